package sluice.decoding;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** Values of declared fields from one document after the other, and the first field of each fault that they have. */
final class JsonValues {
  private final JsonReader json = new JsonReader();
  private final ObjectShape root;
  private String repeated;
  private String wrongCase;
  private String notFinite;
  private String wrongType;

  /**
   * Make one.
   *
   * @param root what is declared of a document
   */
  JsonValues(ObjectShape root) {
    this.root = root;
  }

  /**
   * Read a document, and return its first fault in their order; null if it has none.
   *
   * @param document that is an object, in UTF-8
   * @param start where it begins
   * @param row gets the values
   * @throws JsonReader.Broken if it is no JSON
   */
  UTF8String read(byte[] document, int start, Object[] row) throws JsonReader.Broken {
    repeated = wrongCase = notFinite = wrongType = null;
    json.begin(document, start);
    object(root, row);
    if (json.isFollowed()) {
      return Fault.TRAILING_BYTES;
    }
    if (json.repeats()) {
      return Fault.DUPLICATE_KEY;
    }
    if (wrongCase != null) {
      return Fault.WRONG_CASE;
    }
    if (json.hasNonFinite() || notFinite != null) {
      return Fault.NOT_FINITE;
    }
    return wrongType == null ? null : Fault.WRONG_TYPE;
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

  /** Read an object, at whose beginning the reader is, into a row. */
  private void object(ObjectShape shape, Object[] row) throws JsonReader.Broken {
    if (!json.open()) {
      return;
    }
    Names names = null; // as long as it has those of the object before, none of them can be there twice
    boolean sound = true;
    int count = 0;
    do {
      json.key();
      ObjectShape.Entry entry;
      if (names == null && shape.isInOrder(count, json)) {
        entry = shape.inOrder(count++);
      } else {
        if (names == null) {
          names = json.names();
          shape.addTo(names, count);
        }
        UTF8String key = json.text();
        entry = shape.entry(key);
        sound &= isSound(names, key, entry, shape);
      }
      if (entry == null) {
        json.skip(json.value());
      } else {
        read(entry, row);
      }
    } while (json.next('}'));
    if (names != null && sound) {
      shape.expect(names);
    }
  }

  private boolean isSound(Names names, UTF8String key, ObjectShape.Entry entry, ObjectShape shape) {
    boolean again = names.repeats(key);
    if (again) {
      json.repeated();
      repeated = repeated == null && entry != null ? entry.where + " is there twice" : repeated;
    }
    String meant = entry == null ? shape.inOtherCase(key) : null;
    wrongCase = wrongCase == null && meant != null ? meant + " is written in another case" : wrongCase;
    return !again && meant == null;
  }

  /** Read what is at a key for all who want it: fields, and those whose paths go through it. */
  private void read(ObjectShape.Entry entry, Object[] row) throws JsonReader.Broken {
    int start = json.place();
    if (entry.inside != null) {
      JsonKind kind = json.value();
      if (kind == JsonKind.OBJECT) {
        object(entry.inside, row);
      } else if (kind != JsonKind.NULL) {
        refuse(entry.where + " is " + kind.words + ", and no object");
        json.skip(kind);
      }
    }
    for (int i = 0; i < entry.fields.length; i++) {
      json.back(start);
      JsonKind kind = json.value();
      Object found = value(kind, entry.fields[i]);
      if (found != null || kind == JsonKind.NULL) { // of a key that is there twice, what could be read is kept
        row[entry.places[i]] = found;
      }
    }
  }

  private Object value(JsonKind kind, Declared field) throws JsonReader.Broken {
    if (kind == JsonKind.NULL) {
      return null;
    }
    if (kind == JsonKind.NOT_FINITE) {
      blameNonFinite(field);
    }
    Object found =
        switch (field.kind) {
          case STRING -> json.written(kind);
          case OBJECT -> kind == JsonKind.OBJECT ? row(field) : null;
          case ARRAY -> kind == JsonKind.ARRAY ? array(field) : null;
          case MAP -> kind == JsonKind.OBJECT ? map(field) : null;
          default -> scalar(kind, field);
        };
    if (found == null) {
      refuse(field.where + " is " + form(kind, field));
      json.skip(kind);
    }
    return found;
  }

  private Object scalar(JsonKind kind, Declared field) {
    boolean text = kind == JsonKind.TEXT;
    boolean whole = kind == JsonKind.WHOLE;
    return switch (field.kind) {
      case LONG -> whole ? json.whole() : null;
      case INTEGER -> whole ? Texts.narrow(json.whole()) : null;
      case DOUBLE -> real(kind, field);
      case DECIMAL -> whole || kind == JsonKind.FRACTION ? Texts.decimal(field, json.string()) : null;
      case BOOLEAN -> kind == JsonKind.BOOLEAN ? json.isTrue() : null;
      case TIMESTAMP -> field.unit != null ? whole ? Texts.counted(field, json.whole()) : null : text ? instant(field) : null;
      case DATE -> text ? Texts.date(field, json.string()) : null;
      default -> text ? Texts.binary(json.string()) : null;
    };
  }

  private Long instant(Declared field) {
    return field.time == null ? json.instant(field.zone) : field.time.micros(json.string());
  }

  private Double real(JsonKind kind, Declared field) {
    Double found = null;
    if (kind == JsonKind.TEXT || kind == JsonKind.NOT_FINITE) {
      found = Texts.isNonFinite(json.string()) ? Texts.nonFinite(json.string()) : null;
    } else if (kind.isNumber()) {
      found = json.real(kind);
    }
    if (found != null && !Double.isFinite(found)) {
      blameNonFinite(field);
    }
    return found;
  }

  private void blameNonFinite(Declared field) {
    notFinite = notFinite == null ? field.where + " is no finite number" : notFinite;
  }

  private GenericInternalRow row(Declared field) throws JsonReader.Broken {
    Object[] row = new Object[field.fields.length];
    object(field.shape(), row);
    return new GenericInternalRow(row);
  }

  private GenericArrayData array(Declared field) throws JsonReader.Broken {
    List<Object> found = new ArrayList<>();
    for (boolean more = json.open(); more; more = json.next(']')) {
      found.add(value(json.value(), field.entry));
    }
    return new GenericArrayData(found.toArray());
  }

  private ArrayBasedMapData map(Declared field) throws JsonReader.Broken {
    List<Object> keys = new ArrayList<>();
    List<Object> found = new ArrayList<>();
    if (json.open()) {
      Names names = json.names();
      do {
        json.key();
        UTF8String key = json.text();
        if (names.repeats(key)) {
          json.repeated();
        }
        keys.add(key);
        found.add(value(json.value(), field.entry));
      } while (json.next('}'));
    }
    return new ArrayBasedMapData(new GenericArrayData(keys.toArray()), new GenericArrayData(found.toArray()));
  }

  private void refuse(String detail) {
    wrongType = wrongType == null ? detail : wrongType;
  }

  private String form(JsonKind kind, Declared field) {
    boolean whole = kind == JsonKind.WHOLE;
    if (whole && (field.kind == Declared.Kind.LONG || field.unit != null)) {
      return "a number beyond 64 bits";
    }
    if (whole && field.kind == Declared.Kind.INTEGER) {
      return "a number beyond 32 bits";
    }
    boolean iso = field.kind == Declared.Kind.TIMESTAMP && field.unit == null && field.time == null;
    if (iso && kind == JsonKind.TEXT && Instants.isLocal(json.string())) {
      return "a time without a zone";
    }
    return kind.words + ", and no " + field.wanted();
  }
}
