package sluice.decoding;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.StreamSupport;

/** One declared field of a value, with those that it has inside. */
final class Declared {
  /** The types of a spec. */
  enum Kind {
    STRING,
    LONG,
    INTEGER,
    DOUBLE,
    DECIMAL,
    BOOLEAN,
    TIMESTAMP,
    DATE,
    BINARY,
    OBJECT,
    ARRAY,
    MAP
  }

  final String name;
  /** The field in words of the spec: {@code user.id}, {@code tags[]}, {@code prices{}}. */
  final String where;

  final Kind kind;
  final String[] path;
  final Unit unit;
  /** Of a text that names none; null: there is none. */
  final ZoneOffset zone;
  final TimePattern time;
  final int precision;
  final int scale;
  /** Of an object. */
  final Declared[] fields;
  /** Of each entry of an array or a map. */
  final Declared entry;

  private final ObjectShape shape;

  private Declared(JsonNode said, String name, String where) {
    this.name = name;
    this.where = where;
    kind = Kind.valueOf(said.get("type").textValue().toUpperCase(Locale.ROOT));
    path = said.has("path") ? texts(said.get("path")) : new String[] {name};
    unit = said.has("epoch") ? Unit.valueOf(said.get("epoch").textValue().toUpperCase(Locale.ROOT)) : null;
    zone = said.has("zone") ? ZoneOffset.of(said.get("zone").textValue()) : null;
    time = said.has("time") ? new TimePattern(said.get("time"), zone) : null;
    precision = said.path("precision").intValue();
    scale = said.path("scale").intValue();
    fields = said.has("fields") ? all(said.get("fields"), where + ".") : new Declared[0];
    entry =
        said.has("entry") ? new Declared(said.get("entry"), "", where + (kind == Kind.ARRAY ? "[]" : "{}")) : null;
    shape = ObjectShape.of(fields, where + ".");
  }

  /** The keys of an object. */
  ObjectShape shape() {
    return shape;
  }

  /** Return the declaration in a text of JSON, such as {@code sluice.topics.declaration} writes. */
  static JsonNode parsed(String text) {
    try {
      return new ObjectMapper().readTree(text);
    } catch (JsonProcessingException broken) {
      throw new IllegalArgumentException(broken);
    }
  }

  /** Return the declared fields, in their order. */
  static Declared[] all(JsonNode said, String before) {
    List<Declared> found = new ArrayList<>();
    for (JsonNode field : said) {
      String name = field.get("name").textValue();
      found.add(new Declared(field, name, before + name));
    }
    return found.toArray(new Declared[0]);
  }

  static String[] texts(JsonNode list) {
    return StreamSupport.stream(list.spliterator(), false).map(JsonNode::textValue).toArray(String[]::new);
  }

  /** What a value of it is, in words. */
  String wanted() {
    return switch (kind) {
      case LONG -> "whole number";
      case INTEGER -> "whole number of 32 bits";
      case DOUBLE -> "number";
      case DECIMAL -> "number of at most " + precision + " digits, " + scale + " of them after the point";
      case DATE -> time == null ? "date in ISO 8601" : "date of the declared format";
      case BINARY -> "bytes in base64";
      case ARRAY -> "list";
      case MAP -> "object";
      case TIMESTAMP -> wantedTime();
      default -> kind.name().toLowerCase(Locale.ROOT);
    };
  }

  private String wantedTime() {
    if (unit != null) {
      return "whole number of " + unit.name().toLowerCase(Locale.ROOT);
    }
    return time == null ? "time in ISO 8601 with its zone" : "time of the declared format";
  }
}
