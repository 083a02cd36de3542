package sluice.decoding;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;
import org.sparkproject.spark_core.protobuf.CodedInputStream;

/**
 * The bytes of one record in Protobuf's encoding, all of them, declared or not.
 *
 * <p>Protobuf's own parsers cut numbers to the size of their field, and keep a field that is written as another type
 * with the fields that they do not know. Here both are faults. Their reader of bytes, which Spark brings, believes no
 * length that goes beyond the record.
 */
final class ProtobufBytes {
  /** As in Protobuf's own parsers. */
  private static final int DEEPEST = 100;

  private static final int END_OF_GROUP = 4;
  private static final long LAST_TAG = 0xffff_ffffL;

  private final List<ProtobufMessage.Field> way = new ArrayList<>();
  private CodedInputStream in;
  private int depth;
  private String malformed;
  private String notFinite;
  private String wrongType;

  /** Nothing can be read from here on. */
  private static final class BrokenException extends IOException {
    private static final long serialVersionUID = 1;

    @Override
    public Throwable fillInStackTrace() {
      return this;
    }
  }

  /** What is broken, if a field is known for it. */
  String malformed() {
    return malformed;
  }

  /** The first number that is none, or infinite. */
  String notFinite() {
    return notFinite;
  }

  /** The first field that is written as another type, or is a number beyond its own. */
  String wrongType() {
    return wrongType;
  }

  /**
   * Read a record.
   *
   * @throws IOException the bytes are no message
   */
  ProtobufNode read(byte[] bytes, int from, ProtobufMessage type) throws IOException {
    in = CodedInputStream.newInstance(bytes, from, bytes.length - from);
    way.clear();
    depth = 0;
    malformed = notFinite = wrongType = null;
    ProtobufNode node = new ProtobufNode();
    message(type, node, 0);
    return node;
  }

  /** Read fields up to the limit, or to the end of a group (0: it is none); without a node they are looked at only. */
  private void message(ProtobufMessage type, ProtobufNode node, int group) throws IOException {
    if (depth++ > DEEPEST) {
      throw new BrokenException();
    }
    while (group != 0 || !in.isAtEnd()) {
      long tag = varint();
      int number = (int) (tag >>> 3);
      int wire = (int) tag & 7;
      if (tag < 0 || tag > LAST_TAG || number == 0 || wire == END_OF_GROUP && number != group) {
        throw new BrokenException();
      }
      if (wire == END_OF_GROUP) {
        break;
      }
      ProtobufMessage.Field field = type.field(number);
      if (field == null) {
        skip(wire, number);
        if (type.isEntry()) { // some parsers take such an entry into the map, others do not
          refuse(" has more than a key and a value");
        }
        continue;
      }
      way.add(field);
      field(type, field, wire, node);
      way.remove(way.size() - 1);
    }
    depth--;
  }

  private void field(ProtobufMessage type, ProtobufMessage.Field field, int wire, ProtobufNode node)
      throws IOException {
    if (wire == field.type.wire) {
      if (node != null) {
        node.choose(field);
      }
      ProtobufNode kept = field.wanted ? node : null;
      if (field.inside == null) {
        keep(type, field, kept, scalar(field));
      } else {
        inside(type, field, kept);
      }
    } else if (wire == ProtobufMessage.LENGTH && field.repeated && field.type.packs()) {
      int limit = in.pushLimit(length());
      while (!in.isAtEnd()) {
        keep(type, field, field.wanted ? node : null, scalar(field));
      }
      in.popLimit(limit);
    } else {
      skip(wire, field.number);
      refuse(" is not written as " + field.type.words());
    }
  }

  private static void keep(ProtobufMessage type, ProtobufMessage.Field field, ProtobufNode node, Object value) {
    if (node == null || value == null) {
      return;
    }
    if (field.repeated) {
      node.append(type, field, value);
    } else {
      node.set(type, field, value);
    }
  }

  private void inside(ProtobufMessage type, ProtobufMessage.Field field, ProtobufNode node) throws IOException {
    ProtobufNode own = node == null ? null : field.repeated ? new ProtobufNode() : (ProtobufNode) node.get(field);
    own = node != null && own == null ? new ProtobufNode() : own;
    if (field.type == ProtobufMessage.Type.GROUP) {
      message(field.inside, own, field.number);
    } else {
      int limit = in.pushLimit(length());
      message(field.inside, own, 0);
      in.popLimit(limit);
    }
    if (node != null && field.isMap()) {
      ProtobufMessage.Field key = field.inside.field("key");
      Object found = own.get(key);
      node.put(type, field, found == null ? key.zero() : found, own.get(field.inside.field("value")));
    } else {
      keep(type, field, node, own);
    }
  }

  /** Read a value; null if it is a number beyond its type. */
  private Object scalar(ProtobufMessage.Field field) throws IOException {
    return switch (field.type) {
      case DOUBLE -> finite(Double.longBitsToDouble(in.readRawLittleEndian64()));
      case FLOAT -> finite(Float.intBitsToFloat(in.readRawLittleEndian32()));
      case FIXED64, SFIXED64 -> Long.valueOf(in.readRawLittleEndian64());
      case FIXED32 -> Long.valueOf(Integer.toUnsignedLong(in.readRawLittleEndian32()));
      case SFIXED32 -> Long.valueOf(in.readRawLittleEndian32());
      case STRING -> text();
      case BYTES -> in.readRawBytes(length());
      case BOOL -> {
        long found = varint();
        yield found >>> 1 == 0 ? Boolean.valueOf(found == 1) : beyond(" is a number, and no bool");
      }
      default -> whole(field.type, varint());
    };
  }

  private Object whole(ProtobufMessage.Type type, long found) {
    long number =
        switch (type) {
          case SINT32, SINT64 -> CodedInputStream.decodeZigZag64(found);
          default -> found;
        };
    boolean fits =
        switch (type) {
          case INT32, SINT32 -> number == (int) number;
          case UINT32 -> number >>> Integer.SIZE == 0;
          default -> true; // an enum's number is judged where its name is read
        };
    return fits ? Long.valueOf(number) : beyond(" is a number beyond 32 bits");
  }

  private Object beyond(String said) {
    refuse(said);
    return null;
  }

  private Double finite(double found) {
    if (!Double.isFinite(found) && notFinite == null) {
      notFinite = where() + " is no finite number";
    }
    return found;
  }

  private UTF8String text() throws IOException {
    UTF8String found = UTF8String.fromBytes(in.readRawBytes(length()));
    if (!found.isValid()) {
      malformed = where() + " is not UTF-8";
      throw new BrokenException();
    }
    return found;
  }

  /** A tenth byte is a one, or the library's own method reads another number than parsers in other languages do. */
  private long varint() throws IOException {
    long found = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 7) {
      byte part = in.readRawByte();
      if (shift == Long.SIZE - 1 && part != 1) {
        break;
      }
      found |= (part & 0x7fL) << shift;
      if (part >= 0) {
        return found;
      }
    }
    throw new BrokenException();
  }

  private int length() throws IOException {
    long found = varint();
    if (found < 0 || found > Integer.MAX_VALUE) {
      throw new BrokenException();
    }
    return (int) found;
  }

  private void skip(int wire, int number) throws IOException {
    switch (wire) {
      case ProtobufMessage.VARINT -> varint();
      case ProtobufMessage.FIXED64 -> in.readRawLittleEndian64();
      case ProtobufMessage.LENGTH -> in.skipRawBytes(length());
      case ProtobufMessage.GROUP -> message(ProtobufMessage.UNKNOWN, null, number);
      case ProtobufMessage.FIXED32 -> in.readRawLittleEndian32();
      default -> throw new BrokenException();
    }
  }

  private void refuse(String said) {
    wrongType = wrongType == null ? where() + said : wrongType;
  }

  /** The field that is being read, by the names of the message: {@code lines[].price}. */
  private String where() {
    StringBuilder found = new StringBuilder();
    boolean entry = false;
    for (ProtobufMessage.Field field : way) {
      if (!entry) {
        found.append(found.isEmpty() ? "" : ".").append(field.name);
        found.append(field.isMap() ? "{}" : field.repeated ? "[]" : "");
      }
      entry = field.isMap();
    }
    return found.toString();
  }
}
