package sluice.kafka;

import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.connect.mirror.MirrorMaker;

/**
 * MirrorMaker with exit codes that the launcher knows: its own 2 and 3 say that a cluster did not answer, and would be
 * taken for a wrong spec, after which nothing is started again.
 */
public final class Mirror {
  private static final int TRANSIENT = 13;

  private Mirror() {}

  /** Runs MirrorMaker until it is told to stop. */
  public static void main(String[] arguments) throws Exception {
    Exit.setExitProcedure((status, message) -> System.exit(status == 0 ? 0 : TRANSIENT));
    MirrorMaker.main(arguments);
  }
}
