package sluice.decoding;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Which keys of an object are declared, and who reads what is there: fields, and paths that go on inside. */
final class ObjectShape {
  private final Map<String, Entry> entries = new HashMap<>();
  private final Map<String, String> lower = new HashMap<>();

  /** One declared key. */
  static final class Entry {
    final String where;
    final List<Declared> fields = new ArrayList<>();
    final List<Integer> places = new ArrayList<>();
    ObjectShape inside;
    /** The object in which it was met last. */
    long serial;

    Entry(String where) {
      this.where = where;
    }

    int readers() {
      return fields.size() + (inside == null ? 0 : 1);
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
        Entry entry = at.entries.computeIfAbsent(key, name -> new Entry(said));
        at.lower.putIfAbsent(key.toLowerCase(Locale.ROOT), key);
        if (last) {
          entry.fields.add(fields[place]);
          entry.places.add(place);
        } else {
          entry.inside = entry.inside == null ? new ObjectShape() : entry.inside;
          at = entry.inside;
          where.append('.');
        }
      }
    }
    return shape;
  }

  /** Return who reads a key; null if it is not declared. */
  Entry entry(String key) {
    return entries.get(key);
  }

  /** Return the declared key, in words, that one differs from only in its case; null if there is none. */
  String inOtherCase(String key) {
    String meant = lower.get(key.toLowerCase(Locale.ROOT));
    return meant == null ? null : entries.get(meant).where;
  }
}
