/**
 * Distributed locks on Redis and Valkey. Begin with {@link invalid.belay.Belay#connect(String)}.
 *
 * <p>A <em>hold</em> stands for a lock until you release it. Its <em>lease</em> is how long the server keeps the lock without
 * hearing from this client; the client renews it. Its <em>fence</em> is greater than the fence of every earlier holder of the name.
 * A client that cannot confirm a hold declares it lost before or when its lease ends.
 *
 * <p>All failures are unchecked and implement {@link invalid.belay.Failure}. All classes may be used by any number of threads.
 */
package invalid.belay;
