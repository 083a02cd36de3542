package sluice.decoding;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** Values of declared fields, those inside of others too, from one record, and the first one that does not fit. */
final class AvroValues {
  /** Days of the years 1 to 9999. */
  private static final long FIRST_DAY = -719_162;

  private static final long LAST_DAY = 2_932_896;

  private final Declared[] declared;
  private String unfit;

  AvroValues(Declared[] declared) {
    this.declared = declared;
  }

  /** Which field is of another type than declared; null if none is. */
  String unfit() {
    return unfit;
  }

  Object[] read(AvroValue value) {
    unfit = null;
    return row(declared, value);
  }

  private Object[] row(Declared[] fields, AvroValue value) {
    Object[] row = new Object[fields.length];
    for (int i = 0; i < row.length; i++) {
      row[i] = value(fields[i], at(fields[i], value));
    }
    return row;
  }

  /** Follow the path of a field; null if something on the way is not there, or no record. */
  private AvroValue at(Declared field, AvroValue from) {
    AvroValue at = from;
    for (int step = 0; step < field.path.length && at != null; step++) {
      if (at.type().getType() != Schema.Type.RECORD) {
        refuse(field, at);
        return null;
      }
      at = at.field(field.path[step]);
    }
    return at;
  }

  private Object value(Declared field, AvroValue value) {
    if (value == null) {
      return null;
    }
    Object found = convert(field, value);
    if (found == null) {
      refuse(field, value);
    }
    return found;
  }

  private Object convert(Declared field, AvroValue value) {
    Object content = value.content();
    boolean plain = value.type().getLogicalType() == null;
    return switch (field.kind) {
      case STRING -> content instanceof UTF8String ? content : null;
      case LONG -> plain && content instanceof Long ? content : null;
      case INTEGER -> plain && content instanceof Long number ? Texts.narrow(number) : null;
      case DOUBLE -> plain && content instanceof Number number ? (Object) number.doubleValue() : null;
      case DECIMAL -> decimal(field, value);
      case BOOLEAN -> content instanceof Boolean ? content : null;
      case TIMESTAMP -> instant(value);
      case DATE -> day(value);
      case BINARY -> plain && content instanceof byte[] ? content : null;
      case OBJECT -> content instanceof AvroValue[] ? new GenericInternalRow(row(field.fields, value)) : null;
      case ARRAY -> value.type().getType() == Schema.Type.ARRAY ? list(field, (List<?>) content) : null;
      case MAP -> value.type().getType() == Schema.Type.MAP ? map(field, (List<?>) content) : null;
    };
  }

  /** The number that bytes stand for, or a whole one, if no digit has to be left out. */
  private static Object decimal(Declared field, AvroValue value) {
    LogicalType logical = value.type().getLogicalType();
    if (logical == null && value.content() instanceof Long number) {
      return Texts.decimal(field, number.toString());
    }
    boolean known = logical instanceof LogicalTypes.Decimal && value.content() instanceof byte[] found && found.length > 0;
    if (!known) {
      return null;
    }
    BigInteger digits = new BigInteger((byte[]) value.content());
    if (digits.bitLength() > 4 * Long.SIZE) { // more digits than any decimal has are not written out
      return null;
    }
    return Texts.decimal(field, new BigDecimal(digits, ((LogicalTypes.Decimal) logical).getScale()).toString());
  }

  /** Microseconds; null beyond what they can hold. */
  private static Long instant(AvroValue value) {
    LogicalType logical = value.type().getLogicalType();
    if (logical == null || !(value.content() instanceof Long number)) {
      return null;
    }
    return switch (logical.getName()) {
      case "timestamp-micros" -> number;
      case "timestamp-millis" -> Math.abs(number) > Long.MAX_VALUE / 1000 ? null : Long.valueOf(number * 1000);
      default -> null;
    };
  }

  private static Integer day(AvroValue value) {
    LogicalType logical = value.type().getLogicalType();
    boolean dated = logical instanceof LogicalTypes.Date && value.content() instanceof Long;
    long days = dated ? (Long) value.content() : Long.MAX_VALUE;
    return days >= FIRST_DAY && days <= LAST_DAY ? Integer.valueOf((int) days) : null;
  }

  private GenericArrayData list(Declared field, List<?> entries) {
    Object[] found = new Object[entries.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = value(field.entry, (AvroValue) entries.get(i));
    }
    return new GenericArrayData(found);
  }

  /** Of a key that is there twice, the last value counts. */
  private ArrayBasedMapData map(Declared field, List<?> keysAndValues) {
    java.util.Map<Object, Object> found = new java.util.LinkedHashMap<>();
    for (int i = 0; i < keysAndValues.size(); i += 2) {
      found.put(keysAndValues.get(i), value(field.entry, (AvroValue) keysAndValues.get(i + 1)));
    }
    List<Object> keys = new ArrayList<>(found.keySet());
    return new ArrayBasedMapData(
        new GenericArrayData(keys.toArray()), new GenericArrayData(found.values().toArray()));
  }

  private void refuse(Declared field, AvroValue value) {
    if (unfit == null) {
      LogicalType logical = value.type().getLogicalType();
      String type = value.type().getType().getName() + (logical == null ? "" : " (" + logical.getName() + ")");
      unfit = field.where + " is " + type + ", and no " + field.kind.name().toLowerCase(java.util.Locale.ROOT);
    }
  }
}
