package main

// removedBench is the command bench of the first version, with whatever flags.
type removedBench struct {
	Args []string `arg:"" optional:""`
}

func (removedBench) Run() error {
	return usagef("bench: this command was removed; use make bench in the source, or eideticker doctor")
}
