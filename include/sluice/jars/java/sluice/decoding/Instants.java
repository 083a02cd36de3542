package sluice.decoding;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.YearMonth;
import java.time.ZoneOffset;

/** How a time is written: ISO 8601, {@code 2013-01-01T10:00[:00[.123456789]]} and a zone as an offset or {@code Z}. */
final class Instants {
  private static final String DATE = "dddd-dd-ddTdd:dd";
  private static final int MOST_DIGITS_OF_A_SECOND = 9;
  private static final long SECOND = 1_000_000;
  private static final long NANO = 1_000;
  private static final int DAY = 86_400;

  /** Seconds by which a zone may be ahead or behind. */
  static final int FARTHEST_ZONE = 18 * 3_600;

  private Instants() {}

  /** As {@link #micros(byte[], int, int, ZoneOffset)} has it. */
  static Long micros(String text, ZoneOffset zone) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return micros(bytes, 0, bytes.length, zone);
  }

  /**
   * Return microseconds since 1970, without what is less than one; null if it is no time.
   *
   * @param text holds what is written
   * @param from where it begins there
   * @param to where it ends there
   * @param zone of a text that names none; null: there is none
   */
  static Long micros(byte[] text, int from, int to, ZoneOffset zone) {
    int end = endOfTime(text, from, to);
    if (end < 0 || (end == to && zone == null)) {
      return null;
    }
    int year = number(text, from, 4);
    int month = number(text, from + 5, 2);
    int day = number(text, from + 8, 2);
    int hour = number(text, from + 11, 2);
    int minute = number(text, from + 14, 2);
    int second = end > from + DATE.length() ? number(text, from + 17, 2) : 0;
    if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) {
      return null;
    }
    if (day > 28 && day > YearMonth.of(year, month).lengthOfMonth()) {
      return null;
    }
    int offset = end < to ? offset(text, end, to) : zone.getTotalSeconds();
    if (Math.abs(offset) > FARTHEST_ZONE) {
      return null;
    }
    long seconds = LocalDate.of(year, month, day).toEpochDay() * DAY + 3_600 * hour + 60 * minute + second - offset;
    return seconds * SECOND + fraction(text, from, end);
  }

  /** Whether a text is a date and a time of day, and nothing else. */
  static boolean isLocal(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return endOfTime(bytes, 0, bytes.length) == bytes.length;
  }

  /** The place behind the date and the time of day; -1 if there are none. */
  private static int endOfTime(byte[] text, int from, int to) {
    if (!looksLike(text, from, to, DATE)) {
      return -1;
    }
    int end = from + DATE.length();
    if (!looksLike(text, end, to, ":dd")) {
      return end;
    }
    end += ":dd".length();
    if (!looksLike(text, end, to, ".d")) {
      return end;
    }
    int digits = 0;
    while (digits < MOST_DIGITS_OF_A_SECOND && looksLike(text, end + 1 + digits, to, "d")) {
      digits++;
    }
    return end + 1 + digits;
  }

  /** Microseconds of a second that has a fraction. */
  private static long fraction(byte[] text, int from, int end) {
    int start = from + DATE.length() + ":dd.".length();
    long nanos = start < end ? number(text, start, end - start) : 0;
    for (int digits = Math.max(0, end - start); digits < MOST_DIGITS_OF_A_SECOND; digits++) {
      nanos *= 10;
    }
    return nanos / NANO;
  }

  /** As for bytes: seconds by which {@code Z}, or a sign with hours and minutes, is ahead. */
  static int offset(String zone) {
    byte[] bytes = zone.getBytes(StandardCharsets.UTF_8);
    return offset(bytes, 0, bytes.length);
  }

  /** Seconds by which a zone is ahead; more than there are if it is none. */
  private static int offset(byte[] text, int from, int to) {
    int left = to - from;
    if (left == 1 && text[from] == 'Z') {
      return 0;
    }
    boolean zone =
        (text[from] == '+' || text[from] == '-')
            && (left == 3 && looksLike(text, from + 1, to, "dd")
                || left == 5 && looksLike(text, from + 1, to, "dddd")
                || left == 6 && looksLike(text, from + 1, to, "dd:dd"));
    int minutes = zone && left > 3 ? number(text, to - 2, 2) : 0;
    if (!zone || minutes > 59) {
      return Integer.MAX_VALUE;
    }
    int ahead = 3_600 * number(text, from + 1, 2) + 60 * minutes;
    return text[from] == '-' ? -ahead : ahead;
  }

  private static int number(byte[] text, int from, int digits) {
    int found = 0;
    for (int i = from; i < from + digits; i++) {
      found = 10 * found + text[i] - '0';
    }
    return found;
  }

  private static boolean looksLike(byte[] text, int from, int to, String form) {
    if (to < from + form.length()) {
      return false;
    }
    for (int i = 0; i < form.length(); i++) {
      char wanted = form.charAt(i);
      byte found = text[from + i];
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
