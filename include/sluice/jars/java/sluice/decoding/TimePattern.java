package sluice.decoding;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Times in a declared form of text, which {@code sluice.values.time_pattern} has made a regular expression of. */
final class TimePattern {
  private static final List<String> MONTHS =
      List.of("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec");
  private static final List<String> DAYS = List.of("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun");
  private static final long SECONDS_OF_A_DAY = 86_400;
  private static final long MICROS = 1_000_000;

  private final Pattern form;
  private final String[] parts;
  private final int offset;

  /**
   * Make one.
   *
   * @param said {@code regex}, and what each of its groups is ({@code parts})
   * @param zone of a text that names none, null: it names one, or there is none
   */
  TimePattern(JsonNode said, ZoneOffset zone) {
    form = Pattern.compile(said.get("regex").textValue());
    parts = Declared.texts(said.get("parts"));
    offset = zone == null ? 0 : zone.getTotalSeconds();
  }

  /** Return microseconds since 1970; null if it is no such time. */
  Long micros(String text) {
    Parts found = read(text);
    if (found == null) {
      return null;
    }
    long seconds = found.date.toEpochDay() * SECONDS_OF_A_DAY + found.second - found.offset;
    return seconds * MICROS + found.micros;
  }

  /** Return days since 1970; null if it is no such date. */
  Integer days(String text) {
    Parts found = read(text);
    return found == null ? null : Integer.valueOf((int) found.date.toEpochDay());
  }

  private record Parts(LocalDate date, int second, int micros, int offset) {}

  private Parts read(String text) {
    Matcher match = form.matcher(text);
    if (!match.matches()) {
      return null;
    }
    int[] date = {0, 1, 1};
    int hour = 0;
    int minute = 0;
    int second = 0;
    int micros = 0;
    int half = 0;
    int away = offset;
    String weekday = null;
    for (int i = 0; i < parts.length; i++) {
      String part = match.group(i + 1);
      switch (parts[i]) {
        case "year" -> date[0] = Integer.parseInt(part);
        case "month" -> date[1] = Integer.parseInt(part);
        case "month_name" -> date[1] = MONTHS.indexOf(part) + 1;
        case "day" -> date[2] = Integer.parseInt(part);
        case "weekday" -> weekday = part;
        case "hour" -> hour = Integer.parseInt(part);
        case "half_hour" -> hour = Integer.parseInt(part) % 12;
        case "half" -> half = part.equals("PM") ? 12 : 0;
        case "minute" -> minute = Integer.parseInt(part);
        case "second" -> second = Integer.parseInt(part);
        case "fraction" -> micros = Integer.parseInt((part + "000000").substring(0, 6));
        default -> away = Instants.offset(part);
      }
    }
    if (hour > 23 || minute > 59 || second > 59 || Math.abs(away) > Instants.FARTHEST_ZONE) {
      return null;
    }
    return dated(date, weekday, ((hour + half) * 60 + minute) * 60 + second, micros, away);
  }

  private static Parts dated(int[] date, String weekday, int second, int micros, int away) {
    try {
      LocalDate day = LocalDate.of(date[0], date[1], date[2]);
      boolean other = weekday != null && DAYS.indexOf(weekday) + 1 != day.getDayOfWeek().getValue();
      return other || date[0] == 0 ? null : new Parts(day, second, micros, away);
    } catch (DateTimeException none) {
      return null;
    }
  }
}
