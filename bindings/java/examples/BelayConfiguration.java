import invalid.belay.Belay;
import invalid.belay.DistributedLock;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** A client and a lock as Spring's beans. The context closes the client, which releases its holds. */
@Configuration(proxyBeanMethods = false)
class BelayConfiguration {
  @Bean
  Belay belay() {
    return Belay.options().label("billing").connect(); // server: BELAY_URL, else localhost
  }

  @Bean
  DistributedLock nightlyReport(Belay belay) {
    return belay.lock("nightly-report");
  }
}
