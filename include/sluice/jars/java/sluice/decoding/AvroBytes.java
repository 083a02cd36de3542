package sluice.decoding;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The bytes of one record in Avro's binary encoding, read under the schema that they were written with.
 *
 * <p>Avro's own reader believes what a length says and makes room for it. Here no length is believed that goes beyond
 * the record.
 */
final class AvroBytes {
  private static final int DEEPEST = 500;
  /** Entries that take no bytes, such as nulls, of which a few bytes could announce any number. */
  private static final int MOST_EMPTY = 100_000;

  private final byte[] bytes;
  private int place;
  private int depth;
  private int empty;
  private boolean finite = true;
  private Schema branch;

  AvroBytes(byte[] bytes) {
    this.bytes = bytes;
  }

  /** What was to be read is not there, or is none of its type. */
  static final class BrokenException extends Exception {
    private static final long serialVersionUID = 1;

    BrokenException() {
      super(null, null, false, false);
    }
  }

  boolean atEnd() {
    return place == bytes.length;
  }

  /** Whether no number that was skipped is infinite or none. */
  boolean onlyFinite() {
    return finite;
  }

  /** The type of what was read last, out of its union. */
  Schema branch() {
    return branch;
  }

  /** Read a value: Long, Float, Double, Boolean, UTF8String or null; of other types, their schema. */
  Object read(Schema schema) throws BrokenException {
    branch = schema;
    return switch (schema.getType()) {
      case NULL -> null;
      case BOOLEAN -> bool();
      case INT -> integer();
      case LONG -> varint();
      case FLOAT -> Float.intBitsToFloat((int) fixed(Float.BYTES));
      case DOUBLE -> Double.longBitsToDouble(fixed(Double.BYTES));
      case STRING -> text();
      case ENUM -> UTF8String.fromString(schema.getEnumSymbols().get(below(schema.getEnumSymbols().size())));
      case UNION -> read(schema.getTypes().get(below(schema.getTypes().size())));
      default -> {
        skip(schema);
        yield schema;
      }
    };
  }

  /** Read a value with all that is inside it; null if it is that. */
  AvroValue whole(Schema schema) throws BrokenException {
    if (++depth > DEEPEST) {
      throw new BrokenException();
    }
    AvroValue found =
        switch (schema.getType()) {
          case NULL -> null;
          case UNION -> whole(schema.getTypes().get(below(schema.getTypes().size())));
          case RECORD -> new AvroValue(schema, parts(schema.getFields()));
          case ARRAY -> new AvroValue(schema, blocks(schema.getElementType(), false, new ArrayList<>()));
          case MAP -> new AvroValue(schema, blocks(schema.getValueType(), true, new ArrayList<>()));
          case FIXED -> new AvroValue(schema, taken(schema.getFixedSize()));
          case BYTES -> new AvroValue(schema, taken(length()));
          default -> new AvroValue(schema, read(schema));
        };
    if (found != null && found.content() instanceof Number number) {
      finite &= Double.isFinite(number.doubleValue());
    }
    depth--;
    return found;
  }

  private AvroValue[] parts(List<Schema.Field> fields) throws BrokenException {
    AvroValue[] found = new AvroValue[fields.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = whole(fields.get(i).schema());
    }
    return found;
  }

  /** Go over a value, and look at all of it. */
  void skip(Schema schema) throws BrokenException {
    if (++depth > DEEPEST) {
      throw new BrokenException();
    }
    switch (schema.getType()) {
      case RECORD -> {
        for (Schema.Field field : schema.getFields()) {
          skip(field.schema());
        }
      }
      case ARRAY -> blocks(schema.getElementType(), false, null);
      case MAP -> blocks(schema.getValueType(), true, null);
      case FIXED -> pass(schema.getFixedSize());
      case BYTES -> pass(length());
      case UNION -> skip(schema.getTypes().get(below(schema.getTypes().size())));
      default -> {
        if (read(schema) instanceof Number number) {
          finite &= Double.isFinite(number.doubleValue());
        }
      }
    }
    depth--;
  }

  /** Read entries, the key of each before it, or (null) go over them. */
  private List<Object> blocks(Schema items, boolean keyed, List<Object> kept) throws BrokenException {
    for (long count = varint(); count != 0; count = varint()) {
      long end = -1;
      if (count < 0) {
        long size = varint();
        if (count == Long.MIN_VALUE || size < 0 || size > bytes.length - place) {
          throw new BrokenException();
        }
        count = -count;
        end = place + size;
      }
      for (long entry = 0; entry < count; entry++) {
        int before = place;
        UTF8String key = keyed ? text() : null;
        if (kept == null) {
          skip(items);
        } else {
          if (keyed) {
            kept.add(key);
          }
          kept.add(whole(items));
        }
        if (place == before && ++empty > MOST_EMPTY) {
          throw new BrokenException();
        }
      }
      if (end >= 0 && end != place) {
        throw new BrokenException();
      }
    }
    return kept;
  }

  private boolean bool() throws BrokenException {
    byte found = next();
    if (found != 0 && found != 1) {
      throw new BrokenException();
    }
    return found == 1;
  }

  private Long integer() throws BrokenException {
    long found = varint();
    if (found != (int) found) {
      throw new BrokenException();
    }
    return found;
  }

  private Long varint() throws BrokenException {
    long found = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 7) {
      byte part = next();
      if (shift == Long.SIZE - 1 && part > 1) {
        break;
      }
      found |= (part & 0x7fL) << shift;
      if (part >= 0) {
        return found >>> 1 ^ -(found & 1);
      }
    }
    throw new BrokenException();
  }

  private long fixed(int size) throws BrokenException {
    long found = 0;
    for (int i = 0; i < size; i++) {
      found |= (next() & 0xffL) << Byte.SIZE * i;
    }
    return found;
  }

  private UTF8String text() throws BrokenException {
    int size = length();
    UTF8String found = UTF8String.fromBytes(Arrays.copyOfRange(bytes, place, place + size));
    if (!found.isValid()) {
      throw new BrokenException();
    }
    place += size;
    return found;
  }

  private int length() throws BrokenException {
    long found = varint();
    if (found < 0 || found > bytes.length - place) {
      throw new BrokenException();
    }
    return (int) found;
  }

  private int below(int count) throws BrokenException {
    long found = varint();
    if (found < 0 || found >= count) {
      throw new BrokenException();
    }
    return (int) found;
  }

  private byte[] taken(int size) throws BrokenException {
    int from = place;
    pass(size);
    return Arrays.copyOfRange(bytes, from, place);
  }

  private void pass(int size) throws BrokenException {
    if (size > bytes.length - place) {
      throw new BrokenException();
    }
    place += size;
  }

  private byte next() throws BrokenException {
    if (place == bytes.length) {
      throw new BrokenException();
    }
    return bytes[place++];
  }
}
