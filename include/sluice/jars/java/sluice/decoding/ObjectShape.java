package sluice.decoding;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/** Which keys of an object are declared, and who reads what is there: fields, and paths that go on inside. */
final class ObjectShape {
  private final Map<UTF8String, Entry> entries = new HashMap<>();
  private final Map<String, Entry> lower = new HashMap<>();
  private byte[][] order = {};
  private Entry[] inOrder = {};

  /** One declared key. */
  static final class Entry {
    final String where;
    Declared[] fields = {};
    int[] places = {};
    ObjectShape inside;

    Entry(String where) {
      this.where = where;
    }

    private void add(Declared field, int place) {
      int last = fields.length;
      fields = Arrays.copyOf(fields, last + 1);
      places = Arrays.copyOf(places, last + 1);
      fields[last] = field;
      places[last] = place;
    }
  }

  /**
   * Make one.
   *
   * @param fields by their places in a row
   * @param before what stands before the name of a key: {@code user.}, or nothing
   */
  static ObjectShape of(Declared[] fields, String before) {
    ObjectShape shape = new ObjectShape();
    for (int place = 0; place < fields.length; place++) {
      ObjectShape at = shape;
      String[] path = fields[place].path;
      StringBuilder where = new StringBuilder(before);
      for (int step = 0; step < path.length; step++) {
        String key = path[step];
        boolean last = step == path.length - 1;
        String said = last && path.length == 1 ? fields[place].where : where.append(key).toString();
        Entry entry = at.entries.computeIfAbsent(UTF8String.fromString(key), name -> new Entry(said));
        at.lower.putIfAbsent(key.toLowerCase(Locale.ROOT), entry);
        if (last) {
          entry.add(fields[place], place);
        } else {
          entry.inside = entry.inside == null ? new ObjectShape() : entry.inside;
          at = entry.inside;
          where.append('.');
        }
      }
    }
    return shape;
  }

  /** Whether a key is the one that stood at its place in the object before: those of one producer do not change. */
  boolean isInOrder(int place, JsonReader json) {
    return place < order.length && json.isText(order[place]);
  }

  /** Return who reads the key that stood at a place in the object before; null if it is not declared. */
  Entry inOrder(int place) {
    return inOrder[place];
  }

  /** Take the first names of the object before. */
  void addTo(Names names, int count) {
    for (int i = 0; i < count; i++) {
      names.repeats(UTF8String.fromBytes(order[i]));
    }
  }

  /** Expect these names of the next object, none of which is there twice. */
  void expect(Names names) {
    order = names.copies();
    inOrder = new Entry[order.length];
    for (int i = 0; i < order.length; i++) {
      inOrder[i] = entry(UTF8String.fromBytes(order[i]));
    }
  }

  /** Return who reads a key; null if it is not declared. */
  Entry entry(UTF8String key) {
    return entries.get(key);
  }

  /** Return the declared key, in words, that one differs from only in its case; null if there is none. */
  String inOtherCase(UTF8String key) {
    Entry meant = lower.get(key.toString().toLowerCase(Locale.ROOT));
    return meant == null ? null : meant.where;
  }
}
