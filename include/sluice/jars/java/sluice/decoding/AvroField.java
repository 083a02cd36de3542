package sluice.decoding;

import org.apache.avro.LogicalType;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/** A value of Avro as one of a declared field's type. */
interface AvroField {
  /**
   * Return the value as Spark keeps it; null if it is none of that type.
   *
   * @param value not null
   * @param written the type that it was written as; never a union
   */
  Object convert(Object value, Schema written);

  /** Return the conversion to a declared type. */
  static AvroField of(DataType type) {
    if (type instanceof LongType) {
      return (value, written) -> plain(written) && (value instanceof Long) ? value : null;
    }
    if (type instanceof DoubleType) {
      return (value, written) -> plain(written) && value instanceof Number number ? number.doubleValue() : null;
    }
    if (type instanceof StringType) {
      return (value, written) -> value instanceof UTF8String ? value : null;
    }
    if (type instanceof BooleanType) {
      return (value, written) -> value instanceof Boolean ? value : null;
    }
    return AvroField::instant;
  }

  private static boolean plain(Schema written) {
    return written.getLogicalType() == null;
  }

  /** Microseconds; null beyond what they can hold. */
  private static Object instant(Object value, Schema written) {
    LogicalType logical = written.getLogicalType();
    if (logical == null || !(value instanceof Long number)) {
      return null;
    }
    return switch (logical.getName()) {
      case "timestamp-micros" -> number;
      case "timestamp-millis" -> Math.abs(number) > Long.MAX_VALUE / 1000 ? null : Long.valueOf(number * 1000);
      default -> null;
    };
  }
}
