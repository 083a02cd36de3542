package sluice.decoding;

import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** What a session of Sluice has beside Spark's own functions ({@code spark.sql.extensions}). */
public final class Functions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  private static final String JSON = "sluice_from_json";

  @Override
  public BoxedUnit apply(SparkSessionExtensions session) {
    ExpressionInfo info = new ExpressionInfo(Functions.class.getName(), JSON);
    session.injectFunction(new Tuple3<>(new FunctionIdentifier(JSON), info, new FromJson()));
    return BoxedUnit.UNIT;
  }

  /** {@code sluice_from_json(value, schema)}: bytes, and a struct's schema as JSON. */
  private static final class FromJson extends AbstractFunction1<Seq<Expression>, Expression> {
    @Override
    public Expression apply(Seq<Expression> arguments) {
      StructType fields = (StructType) DataType.fromJson(arguments.apply(1).eval(null).toString());
      return call(new JsonDecoder(fields), arguments.apply(0));
    }
  }

  /** As Spark calls its own evaluators: compiled into the stage, without a conversion. */
  private static Expression call(Decoder decoder, Expression bytes) {
    Expression target = Literal.create(decoder, new ObjectType(Decoder.class));
    Seq<AbstractDataType> types = sequence(DataTypes.BinaryType);
    return new Invoke(target, "decode", decoder.type(), sequence(bytes), types, false, false, true);
  }

  private static <T> Seq<T> sequence(T only) {
    return CollectionConverters.asScala(List.of(only)).toSeq();
  }
}
