package sluice.decoding;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.unsafe.types.UTF8String;

/** The names of one object, to find those that it has twice. */
final class Names {
  private static final int FEW = 32;

  private UTF8String[] names = new UTF8String[FEW];
  private int count;
  private Set<UTF8String> many;

  void clear() {
    count = 0;
    many = null;
  }

  /** Take a name, and return whether it was there before. */
  boolean repeats(UTF8String name) {
    boolean known = count < FEW ? amongFew(name) : amongMany(name);
    if (count == names.length) {
      names = Arrays.copyOf(names, 2 * count);
    }
    names[count++] = name;
    return known;
  }

  /** Return the bytes of each, apart from the document that they were in. */
  byte[][] copies() {
    byte[][] found = new byte[count][];
    for (int i = 0; i < count; i++) {
      found[i] = names[i].clone().getBytes();
    }
    return found;
  }

  private boolean amongFew(UTF8String name) {
    for (int i = 0; i < count; i++) {
      if (names[i].equals(name)) {
        return true;
      }
    }
    return false;
  }

  /** An object of a hundred thousand names must not take the square of that. */
  private boolean amongMany(UTF8String name) {
    if (many == null) {
      many = new HashSet<>(Arrays.asList(names).subList(0, count));
    }
    return !many.add(name);
  }
}
