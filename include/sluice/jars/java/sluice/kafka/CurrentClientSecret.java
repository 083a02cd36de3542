package sluice.kafka;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.oauthbearer.ClientCredentialsJwtRetriever;
import org.apache.kafka.common.security.oauthbearer.JwtRetriever;
import org.apache.kafka.common.security.oauthbearer.JwtRetrieverException;

/** Tokens for a client whose secret may change while it runs: for each token the secret is read where it is. */
public final class CurrentClientSecret implements JwtRetriever {
  private static final String SECRET = "sasl.oauthbearer.client.credentials.client.secret";

  private Map<String, ?> settings;
  private String mechanism;
  private List<AppConfigurationEntry> entries;
  private SecretSource source;

  /** Made by Kafka's clients, by reflection, for {@code sasl.oauthbearer.jwt.retriever.class}. */
  public CurrentClientSecret() {}

  @Override
  public void configure(Map<String, ?> configs, String saslMechanism, List<AppConfigurationEntry> jaasEntries) {
    settings = configs;
    mechanism = saslMechanism;
    entries = jaasEntries;
    source = SecretSource.in(configs);
  }

  @Override
  public String retrieve() throws JwtRetrieverException {
    HashMap<String, Object> current = new HashMap<>(settings);
    current.put(SECRET, new Password(source.now(((Password) settings.get(SECRET)).value())));
    try (ClientCredentialsJwtRetriever kafkas = new ClientCredentialsJwtRetriever()) {
      kafkas.configure(current, mechanism, entries);
      return kafkas.retrieve();
    } catch (IOException error) {
      throw new JwtRetrieverException(error);
    }
  }

  @Override
  public void close() {}
}
