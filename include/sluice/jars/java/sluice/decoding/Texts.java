package sluice.decoding;

import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.Base64;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** Text as a value of a declared field, as Spark keeps it; null if it is none. */
final class Texts {
  private static final Pattern WHOLE = Pattern.compile("-?[0-9]{1,1000}");
  private static final Pattern NUMBER = Pattern.compile("-?[0-9]{1,1000}(\\.[0-9]{1,1000})?([eE][+-]?[0-9]{1,9})?");
  private static final Pattern DATE = Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}");
  private static final Set<String> NOT_FINITE =
      Set.of("NaN", "Infinity", "+Infinity", "-Infinity", "INF", "+INF", "-INF");

  private Texts() {}

  /** Convert what stands in a line of text: all of it is text, numbers too. */
  static Object convert(Declared field, String text) {
    return switch (field.kind) {
      case STRING -> UTF8String.fromString(text);
      case LONG -> whole(text);
      case INTEGER -> narrow(whole(text));
      case DOUBLE -> isNonFinite(text) ? nonFinite(text) : NUMBER.matcher(text).matches() ? Double.valueOf(text) : null;
      case DECIMAL -> NUMBER.matcher(text).matches() ? decimal(field, text) : null;
      case BOOLEAN -> text.equals("true") ? Boolean.TRUE : text.equals("false") ? Boolean.FALSE : null;
      case TIMESTAMP -> field.unit == null ? instant(field, text) : counted(field, whole(text));
      case DATE -> date(field, text);
      case BINARY -> binary(text);
      default -> null;
    };
  }

  /** Whether a text stands for a number that is none, or infinite. */
  static boolean isNonFinite(String text) {
    return NOT_FINITE.contains(text);
  }

  /** Return the number that such a text stands for. */
  static Double nonFinite(String text) {
    double infinite = text.startsWith("-") ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
    return text.equals("NaN") ? Double.NaN : infinite;
  }

  /** Return a whole number that 32 bits hold. */
  static Integer narrow(Long number) {
    return number != null && number == number.intValue() ? Integer.valueOf(number.intValue()) : null;
  }

  /** Return a time that is counted since 1970. */
  static Long counted(Declared field, Long number) {
    return number == null ? null : Long.valueOf(field.unit.toMicros(number));
  }

  /** Return a time that is text. */
  static Object instant(Declared field, String text) {
    return field.time == null ? Instants.micros(text, field.zone) : field.time.micros(text);
  }

  static Integer date(Declared field, String text) {
    if (field.time != null) {
      return field.time.days(text);
    }
    if (!DATE.matcher(text).matches() || text.startsWith("0000")) {
      return null;
    }
    try {
      return (int) LocalDate.parse(text).toEpochDay();
    } catch (DateTimeException none) {
      return null;
    }
  }

  /** Return the number that the digits say, if none of them has to be left out. */
  static Decimal decimal(Declared field, String digits) {
    BigDecimal found;
    try {
      found = new BigDecimal(digits);
    } catch (NumberFormatException beyond) {
      return null;
    }
    if (found.signum() == 0) {
      return Decimal.apply(BigDecimal.ZERO.setScale(field.scale), field.precision, field.scale);
    }
    found = found.stripTrailingZeros();
    long before = (long) found.precision() - found.scale(); // no digit is written out before it is known to fit
    if (before > field.precision - field.scale || found.scale() > field.scale) {
      return null;
    }
    return Decimal.apply(found.setScale(field.scale), field.precision, field.scale);
  }

  /** Return bytes in base64, with its padding: each text stands for other bytes. */
  static byte[] binary(String text) {
    try {
      byte[] found = Base64.getDecoder().decode(text);
      return Base64.getEncoder().encodeToString(found).equals(text) ? found : null;
    } catch (IllegalArgumentException none) {
      return null;
    }
  }

  /** The place of the first character that is no blank; the length if there is none. */
  static int firstCharacter(byte[] value) {
    int place = 0;
    while (place < value.length && isBlank(value[place])) {
      place++;
    }
    return place;
  }

  private static boolean isBlank(byte character) {
    return character == ' ' || character == '\t' || character == '\r' || character == '\n';
  }

  /** Whether bytes are UTF-8. */
  static boolean isUtf8(byte[] value) {
    int all = 0;
    for (byte part : value) {
      all |= part;
    }
    return all >= 0 || UTF8String.fromBytes(value).isValid();
  }

  /** Return the bytes from one place to another, which are UTF-8. */
  static UTF8String slice(byte[] value, long from, long to) {
    return UTF8String.fromBytes(Arrays.copyOfRange(value, (int) from, (int) to));
  }

  private static Long whole(String text) {
    if (!WHOLE.matcher(text).matches()) {
      return null;
    }
    try {
      return Long.valueOf(text);
    } catch (NumberFormatException beyond) {
      return null;
    }
  }
}
