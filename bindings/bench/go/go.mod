module belay.invalid/bench

go 1.22

require belay.invalid/belay v0.0.0

replace belay.invalid/belay => ../../go
