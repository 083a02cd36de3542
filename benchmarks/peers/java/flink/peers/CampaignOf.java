package peers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.ScalarFunction;

/** The campaign of an ad, from a table of two columns that is read once per task; null for an unknown ad. */
public final class CampaignOf extends ScalarFunction {
  private static final long serialVersionUID = 1L;

  private transient Map<String, String> campaigns;

  @Override
  public void open(FunctionContext context) throws IOException {
    try (var lines = Files.lines(Path.of(context.getJobParameter("campaigns", "")))) {
      campaigns = lines.skip(1).map(line -> line.split(",")).collect(Collectors.toMap(row -> row[0], row -> row[1]));
    }
  }

  /** Look one up. */
  public String eval(String ad) {
    return campaigns.get(ad);
  }
}
