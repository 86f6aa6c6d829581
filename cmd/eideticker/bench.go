package main

// removedBench is the command bench of the first version, with whatever flags.
type removedBench struct {
	Args []string `arg:"" optional:""`
}

func (removedBench) Run() error {
	return usagef("bench: this command was removed; run make bench in the source, and doctor for this box")
}
