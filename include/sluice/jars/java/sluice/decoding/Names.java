package sluice.decoding;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** The names of one object, to find those that it has twice. */
final class Names {
  private static final int FEW = 32;

  private String[] names = new String[FEW];
  private int count;
  private Set<String> many;

  void clear() {
    count = 0;
    many = null;
  }

  /** Whether a name is the one that stands at the next place here. */
  boolean goesOn(int place, String name) {
    return place < count && names[place].equals(name);
  }

  int count() {
    return count;
  }

  /** Take a name that is not there yet. */
  void append(String name) {
    if (count == names.length) {
      names = Arrays.copyOf(names, 2 * count);
    }
    names[count++] = name;
  }

  /** Take a name, and return whether it was there before. */
  boolean repeats(String name) {
    boolean known = count < FEW ? amongFew(name) : amongMany(name);
    append(name);
    return known;
  }

  private boolean amongFew(String name) {
    for (int i = 0; i < count; i++) {
      if (names[i].equals(name)) {
        return true;
      }
    }
    return false;
  }

  /** An object of a hundred thousand names must not take the square of that. */
  private boolean amongMany(String name) {
    if (many == null) {
      many = new HashSet<>(Arrays.asList(names).subList(0, count));
    }
    return !many.add(name);
  }
}
