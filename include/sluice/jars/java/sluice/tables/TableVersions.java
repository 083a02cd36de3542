package sluice.tables;

import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The versions of a Delta table as a stream of which no row is ever read: there is a batch whenever there is a new one.
 *
 * <p>Offsets are written as Kafka's are, under the name that Sluice has for the table, so that whoever reads checkpoints
 * reads these, too: {@code {"table:departures":{"0":7}}} once version 6 was seen. PySpark has sources in Python; one of
 * them takes seven processes and 290 MB, and leaves no record in the checkpoint of where it began.
 *
 * <p>Options: {@code name}, and {@code path}, the folder of the table, which need not be there yet.
 */
public class TableVersions implements TableProvider {
  private static final StructType NOTHING = new StructType().add("version", DataTypes.LongType);

  /** Made by Spark, by reflection. */
  public TableVersions() {}

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return NOTHING;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Versions(properties.get("name"), properties.get("path"));
  }

  private record Versions(String name, String path) implements SupportsRead {
    @Override
    public Column[] columns() {
      return new Column[] {Column.create("version", DataTypes.LongType)};
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new VersionScan(name, path);
    }
  }

  private record VersionScan(String name, String path) implements Scan {
    @Override
    public StructType readSchema() {
      return NOTHING;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      Configuration hadoop = SparkSession.active().sparkContext().hadoopConfiguration();
      return new VersionStream(name, path, checkpoint, hadoop);
    }
  }
}
