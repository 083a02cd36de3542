package sluice.decoding;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.BadRecordException;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's own parser of JSON, so that values are what {@code from_json} gives, over a reader that is watched. */
final class JsonDecoder extends Decoder {
  private static final long serialVersionUID = 1;

  /** What a field says of its texts without a zone. */
  private static final String ZONE = "zone";

  private static final java.util.Map<String, String> STRICT = java.util.Map.of("allowSingleQuotes", "false");

  private transient JacksonParser json;
  private transient WatchedJson watched;
  private transient int[] doubles;
  private transient Unit[] units;
  private transient Culprit culprit;

  JsonDecoder(StructType fields) {
    super(fields);
  }

  @Override
  public InternalRow decode(byte[] value) {
    if (value == null) {
      return refused(Fault.TOMBSTONE);
    }
    int first = firstCharacter(value);
    if (first == value.length) {
      return refused(Fault.EMPTY);
    }
    // A zero at the second place would make the reader guess another encoding.
    if (value[first] != '{' || (value.length > 1 && value[1] == 0) || !Texts.isUtf8(value)) {
      return refused(Fault.MALFORMED);
    }
    if (json == null) {
      prepare();
    }
    InternalRow row;
    boolean wrongType = false;
    try {
      row = parsed(value);
    } catch (BadRecordException bad) {
      InternalRow[] partial = bad.partialResults().apply();
      row = partial.length == 0 ? null : partial[0];
      wrongType = true;
    }
    UTF8String fault = watched.fault();
    if (fault == Fault.MALFORMED) {
      return refused(fault);
    }
    if (fault == null && row != null && hasNonFinite(row)) {
      fault = Fault.NOT_FINITE;
    }
    if (fault == null && wrongType) {
      fault = Fault.WRONG_TYPE;
    }
    boolean named = fault != null && fault != Fault.TRAILING_BYTES;
    return row(row, fault, named ? culprit.find(value, fault, row) : null);
  }

  /** A time that is written as a number was read as one. */
  @Override
  Object value(InternalRow decoded, int place) {
    Unit unit = units[place];
    return unit == null ? super.value(decoded, place) : Long.valueOf(unit.toMicros(decoded.getLong(place)));
  }

  /** Spark declares nothing: it is Scala that throws. */
  private InternalRow parsed(byte[] value) throws BadRecordException {
    return json.parse(value, this::open, UTF8String::fromBytes).head();
  }

  private void prepare() {
    Seq<Filter> none = CollectionConverters.asScala(List.<Filter>of()).toSeq();
    StructField[] all = fields().fields();
    units = new Unit[all.length];
    StructType read = new StructType();
    java.util.Map<String, String> zones = new HashMap<>();
    for (int i = 0; i < all.length; i++) {
      units[i] = Unit.of(all[i]);
      read = read.add(all[i].name(), units[i] == null ? all[i].dataType() : DataTypes.LongType);
      if (units[i] == null && all[i].dataType().equals(DataTypes.TimestampType)) {
        zones.put(all[i].name(), all[i].metadata().contains(ZONE) ? all[i].metadata().getString(ZONE) : "");
      }
    }
    json = new JacksonParser(read, strict(), false, none);
    watched = new WatchedJson(Set.of(fields().fieldNames()), zones);
    culprit = new Culprit(fields());
    doubles = IntStream.range(0, all.length).filter(i -> all[i].dataType().equals(DataTypes.DoubleType)).toArray();
  }

  /** How JSON is read: as its standard says. */
  static JSONOptions strict() {
    Map<String, String> strict = Map$.MODULE$.from(CollectionConverters.asScala(STRICT));
    return new JSONOptions(strict, "UTC", "");
  }

  private JsonParser open(JsonFactory factory, byte[] value) {
    try {
      return watched.watch(factory.createParser(value), mayEscapeSurrogates(value));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private boolean hasNonFinite(InternalRow row) {
    for (int field : doubles) {
      if (!row.isNullAt(field) && !Double.isFinite(row.getDouble(field))) {
        return true;
      }
    }
    return false;
  }

  /** The place of the first character that is no blank; the length if there is none. */
  static int firstCharacter(byte[] value) {
    int place = 0;
    while (place < value.length && isBlank(value[place])) {
      place++;
    }
    return place;
  }

  private static boolean isBlank(byte character) {
    return character == ' ' || character == '\t' || character == '\r' || character == '\n';
  }

  /** Whether a text in it may escape half a character. */
  static boolean mayEscapeSurrogates(byte[] value) {
    for (int i = 0; i < value.length - 2; i++) {
      if (value[i] == '\\' && value[i + 1] == 'u' && (value[i + 2] | ' ') == 'd') {
        return true;
      }
    }
    return false;
  }
}
