package sluice.decoding;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/** A message of Protobuf: what the numbers in its bytes stand for. */
final class ProtobufMessage {
  static final String TIMESTAMP = "google.protobuf.Timestamp";
  /** What is not known of: it has no fields. */
  static final ProtobufMessage UNKNOWN = new ProtobufMessage("");

  static final int VARINT = 0;
  static final int FIXED64 = 1;
  static final int LENGTH = 2;
  static final int GROUP = 3;
  static final int FIXED32 = 5;

  /** The types of fields, each with how it is written. */
  enum Type {
    DOUBLE(ProtobufMessage.FIXED64),
    FLOAT(ProtobufMessage.FIXED32),
    INT64(VARINT),
    UINT64(VARINT),
    INT32(VARINT),
    FIXED64(ProtobufMessage.FIXED64),
    FIXED32(ProtobufMessage.FIXED32),
    BOOL(VARINT),
    STRING(LENGTH),
    GROUP(ProtobufMessage.GROUP),
    MESSAGE(LENGTH),
    BYTES(LENGTH),
    UINT32(VARINT),
    ENUM(VARINT),
    SFIXED32(ProtobufMessage.FIXED32),
    SFIXED64(ProtobufMessage.FIXED64),
    SINT32(VARINT),
    SINT64(VARINT);

    final int wire;

    Type(int wire) {
      this.wire = wire;
    }

    /** Whether the entries of a list may stand in one piece. */
    boolean packs() {
      return wire != LENGTH && wire != ProtobufMessage.GROUP;
    }

    boolean isWhole() {
      return this != BOOL && this != ENUM && packs() && !isReal();
    }

    boolean isReal() {
      return this == DOUBLE || this == FLOAT;
    }

    boolean isUnsigned64() {
      return this == UINT64 || this == FIXED64;
    }

    String words() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** A field. */
  static final class Field {
    final String name;
    final int number;
    final Type type;
    final boolean repeated;
    /** Whether it is its default where it is absent. */
    final boolean implicit;
    final String oneof;
    /** Where its message keeps it. */
    final int place;
    /** The message that it is, or an entry of its map; null of other types. */
    final ProtobufMessage inside;
    final Map<Long, UTF8String> symbols = new HashMap<>();
    /** Whether anything reads it; what nothing reads is looked at, and not kept. */
    boolean wanted;

    private Field(JsonNode said, int place, Map<String, ProtobufMessage> messages, JsonNode enums) {
      name = said.get("name").textValue();
      number = said.get("number").intValue();
      type = Type.valueOf(said.get("type").textValue().toUpperCase(Locale.ROOT));
      repeated = said.path("repeated").booleanValue();
      implicit = said.path("presence").asText().equals("implicit");
      oneof = said.path("oneof").asText(null);
      this.place = place;
      String of = said.path("of").asText();
      inside = messages.get(of);
      enums.path(of).properties().forEach(each ->
          symbols.put(Long.valueOf(each.getKey()), UTF8String.fromString(each.getValue().textValue())));
    }

    boolean isMap() {
      return repeated && inside != null && inside.isEntry;
    }

    /** What stands for its absence where that is a value. */
    Object zero() {
      return switch (type) {
        case DOUBLE, FLOAT -> 0.0;
        case BOOL -> false;
        case STRING -> UTF8String.EMPTY_UTF8;
        case BYTES -> new byte[0];
        case MESSAGE, GROUP -> new ProtobufNode();
        default -> 0L;
      };
    }
  }

  final String name;
  final List<Field> fields = new ArrayList<>();
  private final Map<Integer, Field> byNumber = new HashMap<>();
  private final Map<String, Field> byName = new HashMap<>();
  private boolean isEntry;

  private ProtobufMessage(String name) {
    this.name = name;
  }

  /** Return the message of records, in a layout such as {@code sluice.contracts.protobuf} writes. */
  static ProtobufMessage root(JsonNode layout) {
    Map<String, ProtobufMessage> messages = new HashMap<>();
    layout.get("messages").fieldNames().forEachRemaining(name -> messages.put(name, new ProtobufMessage(name)));
    for (ProtobufMessage message : messages.values()) {
      JsonNode said = layout.get("messages").get(message.name);
      message.isEntry = said.path("entry").booleanValue();
      for (JsonNode each : said.get("fields")) {
        Field field = new Field(each, message.fields.size(), messages, layout.get("enums"));
        message.fields.add(field);
        message.byNumber.put(field.number, field);
        message.byName.put(field.name, field);
      }
    }
    return messages.get(layout.get("root").textValue());
  }

  boolean isEntry() {
    return isEntry;
  }

  Field field(int number) {
    return byNumber.get(number);
  }

  Field field(String called) {
    return byName.get(called);
  }
}
