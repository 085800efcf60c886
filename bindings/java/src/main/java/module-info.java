/** Distributed locks on Redis and Valkey. */
module invalid.belay {
  exports invalid.belay;
}
