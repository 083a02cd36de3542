package sluice.decoding;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** Values of declared fields from the tokens of one document, and the first field of each fault that they have. */
final class JsonValues {
  private final JsonFactory factory;
  private byte[] document;
  private long objects;
  private String repeated;
  private String wrongCase;
  private String notFinite;
  private String wrongType;

  JsonValues(JsonFactory factory) {
    this.factory = factory;
  }

  /** Begin with another document. */
  void begin(byte[] bytes) {
    document = bytes;
    repeated = wrongCase = notFinite = wrongType = null;
  }

  /** Which declared field has a fault, and what is wrong with it; null if none has it. */
  String detail(UTF8String fault) {
    if (fault == Fault.DUPLICATE_KEY) {
      return repeated;
    }
    if (fault == Fault.WRONG_CASE) {
      return wrongCase;
    }
    return fault == Fault.NOT_FINITE ? notFinite : fault == Fault.WRONG_TYPE ? wrongType : null;
  }

  /** Read an object, at whose beginning the parser is, into a row. */
  void read(JsonParser json, ObjectShape shape, Object[] row) throws IOException {
    long serial = ++objects;
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String key = json.currentName();
      JsonToken token = json.nextToken();
      ObjectShape.Entry entry = shape.entry(key);
      if (entry == null) {
        String meant = shape.inOtherCase(key);
        wrongCase = wrongCase == null && meant != null ? meant + " is written in another case" : wrongCase;
        json.skipChildren();
        continue;
      }
      if (entry.serial == serial && repeated == null) {
        repeated = entry.where + " is there twice";
      }
      entry.serial = serial;
      read(json, token, entry, row);
    }
  }

  private void read(JsonParser json, JsonToken token, ObjectShape.Entry entry, Object[] row) throws IOException {
    if (entry.readers() == 1) {
      readOnce(json, token, entry, entry.fields.isEmpty() ? -1 : 0, row);
      return;
    }
    long start = json.currentTokenLocation().getByteOffset();
    if (!token.isStructStart()) { // a scalar is not used up by the first who reads it
      for (int i = entry.inside == null ? 0 : -1; i < entry.fields.size(); i++) {
        readOnce(json, token, entry, i, row);
      }
      return;
    }
    json.skipChildren();
    byte[] part = Arrays.copyOfRange(document, (int) start, (int) json.currentLocation().getByteOffset());
    byte[] whole = document;
    document = part;
    for (int i = entry.inside == null ? 0 : -1; i < entry.fields.size(); i++) {
      try (JsonParser again = factory.createParser(part)) {
        readOnce(again, again.nextToken(), entry, i, row);
      }
    }
    document = whole;
  }

  /** Read what is at a key for one field, or (-1) for the fields whose paths go through it. */
  private void readOnce(JsonParser json, JsonToken token, ObjectShape.Entry entry, int which, Object[] row)
      throws IOException {
    if (which >= 0) {
      Object found = value(json, token, entry.fields.get(which));
      if (found != null || token == JsonToken.VALUE_NULL) { // of a key that is there twice, what could be read is kept
        row[entry.places.get(which)] = found;
      }
    } else if (token == JsonToken.START_OBJECT) {
      read(json, entry.inside, row);
    } else if (token != JsonToken.VALUE_NULL) {
      refuse(entry.where + " is " + Culprit.kind(token) + ", and no object");
      json.skipChildren();
    }
  }

  private Object value(JsonParser json, JsonToken token, Declared field) throws IOException {
    if (token == JsonToken.VALUE_NULL) {
      return null;
    }
    if (token == JsonToken.VALUE_NUMBER_FLOAT && json.isNaN()) {
      blameNonFinite(field);
    }
    Object found =
        switch (field.kind) {
          case STRING -> text(json, token);
          case OBJECT -> token == JsonToken.START_OBJECT ? object(json, field) : null;
          case ARRAY -> token == JsonToken.START_ARRAY ? array(json, field) : null;
          case MAP -> token == JsonToken.START_OBJECT ? map(json, field) : null;
          default -> scalar(json, token, field);
        };
    if (found == null) {
      refuse(field.where + " is " + form(json, token, field));
      json.skipChildren();
    }
    return found;
  }

  private Object scalar(JsonParser json, JsonToken token, Declared field) throws IOException {
    boolean text = token == JsonToken.VALUE_STRING;
    return switch (field.kind) {
      case LONG -> whole(json, token);
      case INTEGER -> Texts.narrow(whole(json, token));
      case DOUBLE -> real(json, token, field);
      case DECIMAL -> decimal(json, token, field);
      case BOOLEAN -> token == JsonToken.VALUE_TRUE ? Boolean.TRUE : token == JsonToken.VALUE_FALSE ? false : null;
      case TIMESTAMP ->
          field.unit != null
              ? Texts.counted(field, whole(json, token))
              : text ? Texts.instant(field, json.getText()) : null;
      case DATE -> text ? Texts.date(field, json.getText()) : null;
      default -> text ? Texts.binary(json.getText()) : null;
    };
  }

  /** A text, or what else there is as it is written. */
  private UTF8String text(JsonParser json, JsonToken token) throws IOException {
    if (token == JsonToken.VALUE_STRING) {
      return UTF8String.fromString(json.getText());
    }
    long start = json.currentTokenLocation().getByteOffset();
    json.skipChildren();
    return Texts.slice(document, start, json.currentLocation().getByteOffset());
  }

  private Long whole(JsonParser json, JsonToken token) throws IOException {
    boolean fits = token == JsonToken.VALUE_NUMBER_INT && json.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
    return fits ? Long.valueOf(json.getLongValue()) : null;
  }

  private Double real(JsonParser json, JsonToken token, Declared field) throws IOException {
    Double found = null;
    if (token == JsonToken.VALUE_STRING && Texts.isNonFinite(json.getText())) {
      found = Texts.nonFinite(json.getText());
    } else if (token.isNumeric()) {
      found = json.getDoubleValue();
    }
    if (found != null && !Double.isFinite(found)) {
      blameNonFinite(field);
    }
    return found;
  }

  private Object decimal(JsonParser json, JsonToken token, Declared field) throws IOException {
    boolean finite = token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT && !json.isNaN();
    return finite ? Texts.decimal(field, json.getText()) : null;
  }

  private void blameNonFinite(Declared field) {
    notFinite = notFinite == null ? field.where + " is no finite number" : notFinite;
  }

  private GenericInternalRow object(JsonParser json, Declared field) throws IOException {
    Object[] row = new Object[field.fields.length];
    read(json, field.shape(), row);
    return new GenericInternalRow(row);
  }

  private GenericArrayData array(JsonParser json, Declared field) throws IOException {
    List<Object> found = new ArrayList<>();
    for (JsonToken token = json.nextToken(); token != JsonToken.END_ARRAY; token = json.nextToken()) {
      found.add(value(json, token, field.entry));
    }
    return new GenericArrayData(found.toArray());
  }

  private ArrayBasedMapData map(JsonParser json, Declared field) throws IOException {
    List<Object> keys = new ArrayList<>();
    List<Object> found = new ArrayList<>();
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      keys.add(UTF8String.fromString(json.currentName()));
      found.add(value(json, json.nextToken(), field.entry));
    }
    return new ArrayBasedMapData(new GenericArrayData(keys.toArray()), new GenericArrayData(found.toArray()));
  }

  private void refuse(String detail) {
    wrongType = wrongType == null ? detail : wrongType;
  }

  private static String form(JsonParser json, JsonToken token, Declared field) throws IOException {
    boolean whole = token == JsonToken.VALUE_NUMBER_INT;
    if (whole && (field.kind == Declared.Kind.LONG || field.unit != null)) {
      return "a number beyond 64 bits";
    }
    if (whole && field.kind == Declared.Kind.INTEGER) {
      return "a number beyond 32 bits";
    }
    boolean iso = field.kind == Declared.Kind.TIMESTAMP && field.unit == null && field.time == null;
    if (iso && token == JsonToken.VALUE_STRING && Instants.isLocal(json.getText())) {
      return "a time without a zone";
    }
    return Culprit.kind(token) + ", and no " + field.wanted();
  }
}
