package sluice.tables;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** The version of a table that is next. */
final class VersionOffset extends Offset {
  private static final Pattern NUMBER = Pattern.compile(":\\s*(\\d+)\\s*}\\s*}\\s*$");

  private final String name;
  private final long next;

  VersionOffset(String name, long next) {
    this.name = name;
    this.next = next;
  }

  static VersionOffset of(String name, String json) {
    Matcher found = NUMBER.matcher(json);
    if (!found.find()) {
      throw new IllegalArgumentException("no version of the " + name + ": " + json);
    }
    return new VersionOffset(name, Long.parseLong(found.group(1)));
  }

  @Override
  public String json() {
    return "{\"" + name + "\":{\"0\":" + next + "}}"; // a name of the specs, which needs no quoting
  }
}
