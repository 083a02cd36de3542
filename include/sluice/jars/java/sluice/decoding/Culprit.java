package sluice.decoding;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Which declared field is at fault, and what it holds instead, in words that quote nothing of the record.
 *
 * <p>Only a record that is refused is read a second time for it.
 */
final class Culprit {
  private static final JsonFactory JSON =
      JsonFactory.builder().enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS).build();

  private final StructType fields;

  Culprit(StructType fields) {
    this.fields = fields;
  }

  /**
   * Return the first one with its form; null if it is no declared field.
   *
   * @param value the record, an object
   * @param fault why it is refused
   * @param row what could be read of it; a field that could not is null
   */
  UTF8String find(byte[] value, UTF8String fault, InternalRow row) {
    try (JsonParser json = JSON.createParser(value)) {
      json.nextToken();
      Set<String> before = new HashSet<>();
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        String name = json.currentName();
        boolean again = !before.add(name);
        JsonToken token = json.nextToken();
        String said = said(json, fault, row, name, token, again);
        if (said != null) {
          return UTF8String.fromString(said);
        }
        json.skipChildren();
      }
    } catch (IOException broken) {
      return null;
    }
    return null;
  }

  private String said(JsonParser json, UTF8String fault, InternalRow row, String name, JsonToken token, boolean again)
      throws IOException {
    if (fault == Fault.WRONG_CASE) {
      String meant = name.toLowerCase(Locale.ROOT);
      boolean wrong = fields.getFieldIndex(name).isEmpty() && fields.getFieldIndex(meant).isDefined();
      return wrong ? meant + " is written in another case" : null;
    }
    if (fields.getFieldIndex(name).isEmpty()) {
      return null;
    }
    if (fault == Fault.DUPLICATE_KEY) {
      return again ? name + " is there twice" : null;
    }
    int place = fields.fieldIndex(name);
    StructField field = fields.fields()[place];
    if (fault == Fault.NOT_FINITE) {
      boolean constant = token == JsonToken.VALUE_NUMBER_FLOAT && json.isNaN();
      return constant || isNonFinite(field, place, row) ? name + " is no finite number" : null;
    }
    boolean unread = token != JsonToken.VALUE_NULL && (row == null || row.isNullAt(place));
    return unread ? name + " is " + form(json, field, token) : null;
  }

  private static boolean isNonFinite(StructField field, int place, InternalRow row) {
    boolean number = field.dataType().equals(DataTypes.DoubleType) && row != null && !row.isNullAt(place);
    return number && !Double.isFinite(row.getDouble(place));
  }

  private static String form(JsonParser json, StructField field, JsonToken token) throws IOException {
    DataType type = field.dataType();
    boolean whole = token == JsonToken.VALUE_NUMBER_INT;
    Unit unit = Unit.of(field);
    if (unit != null) {
      String number = "whole number of " + unit.name().toLowerCase(Locale.ROOT);
      return whole ? "a number beyond 64 bits" : kind(token) + ", and no " + number;
    }
    if (type.equals(DataTypes.TimestampType)) {
      boolean local = token == JsonToken.VALUE_STRING && Instants.isLocal(json.getText());
      return local ? "a time without a zone" : kind(token) + ", and no time in ISO 8601 with its zone";
    }
    if (type.equals(DataTypes.LongType)) {
      return whole ? "a number beyond 64 bits" : kind(token) + ", and no whole number";
    }
    return kind(token) + ", and no " + (type.equals(DataTypes.DoubleType) ? "number" : type.simpleString());
  }

  /** Return what a value is, in words. */
  static String kind(JsonToken token) {
    return switch (token) {
      case VALUE_STRING -> "text";
      case VALUE_NUMBER_INT -> "a whole number";
      case VALUE_NUMBER_FLOAT -> "a fraction";
      case VALUE_TRUE, VALUE_FALSE -> "true or false";
      case START_OBJECT -> "an object";
      default -> "a list";
    };
  }
}
