package sluice.decoding;

/** How a time is written: ISO 8601, {@code 2013-01-01T10:00[:00[.123456789]]} and a zone as an offset or {@code Z}. */
final class Instants {
  private static final String DATE = "dddd-dd-ddTdd:dd";
  private static final int MOST_DIGITS_OF_A_SECOND = 9;

  private Instants() {}

  /**
   * Return a time as Spark reads it, which wants seconds before an offset; the ranges of its numbers are for Spark to
   * judge. Null if it is none.
   *
   * @param text what is written
   * @param zone of a text that names none; empty: there is none
   */
  static String read(String text, String zone) {
    int end = endOfTime(text);
    boolean local = end == text.length();
    if (end < 0 || (local ? zone.isEmpty() : !isZone(text, end))) {
      return null;
    }
    String zoned = local ? text + zone : text;
    return end > DATE.length() ? zoned : zoned.substring(0, end) + ":00" + zoned.substring(end);
  }

  /** Whether a text is a date and a time of day, and nothing else. */
  static boolean isLocal(String text) {
    return endOfTime(text) == text.length();
  }

  /** The place behind the date and the time of day; -1 if there are none. */
  private static int endOfTime(String text) {
    if (!looksLike(text, 0, DATE)) {
      return -1;
    }
    int end = DATE.length();
    if (!looksLike(text, end, ":dd")) {
      return end;
    }
    end += ":dd".length();
    if (!looksLike(text, end, ".d")) {
      return end;
    }
    int digits = 0;
    while (digits < MOST_DIGITS_OF_A_SECOND && looksLike(text, end + 1 + digits, "d")) {
      digits++;
    }
    return end + 1 + digits;
  }

  private static boolean isZone(String text, int from) {
    int left = text.length() - from;
    if (left == 1) {
      return text.charAt(from) == 'Z';
    }
    return left > 0
        && (text.charAt(from) == '+' || text.charAt(from) == '-')
        && (left == 3 && looksLike(text, from + 1, "dd")
            || left == 5 && looksLike(text, from + 1, "dddd")
            || left == 6 && looksLike(text, from + 1, "dd:dd"));
  }

  private static boolean looksLike(String text, int from, String form) {
    if (text.length() < from + form.length()) {
      return false;
    }
    for (int i = 0; i < form.length(); i++) {
      char wanted = form.charAt(i);
      char found = text.charAt(from + i);
      boolean fits =
          switch (wanted) {
            case 'd' -> found >= '0' && found <= '9';
            case 'T' -> found == 'T' || found == ' ';
            default -> found == wanted;
          };
      if (!fits) {
        return false;
      }
    }
    return true;
  }
}
