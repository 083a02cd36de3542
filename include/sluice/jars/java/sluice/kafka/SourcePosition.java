package sluice.kafka;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Gives each record that MirrorMaker copies a header with its offset in the source: what is compared is then a fact about
 * the record, and no estimate from pairs of offsets that are noted now and then.
 */
public final class SourcePosition implements Transformation<SourceRecord> {
  private static final String NAME = "header";
  private String header;

  @Override
  public ConfigDef config() {
    return new ConfigDef().define(NAME, ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "The name of the header.");
  }

  @Override
  public void configure(Map<String, ?> settings) {
    header = (String) config().parse(settings).get(NAME);
  }

  @Override
  public SourceRecord apply(SourceRecord record) {
    // Heartbeats and checkpoints pass here, too; only a copied record is of a partition of a cluster.
    if (!record.sourcePartition().containsKey("cluster")) {
      return record;
    }
    byte[] offset = record.sourceOffset().get("offset").toString().getBytes(StandardCharsets.US_ASCII);
    record.headers().remove(header); // it may have been copied before, to where this mirror reads it
    record.headers().add(header, offset, Schema.BYTES_SCHEMA);
    return record;
  }

  @Override
  public void close() {}
}
