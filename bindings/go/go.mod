module belay.invalid/belay

go 1.22
