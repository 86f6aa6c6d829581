package api

// NetworkParams are those of network.set.
type NetworkParams struct {
	Job     string     `json:"job" doc:"whose run is at work"`
	Network Conditions `json:"network" doc:"what the line is to be, as a step network of a test has it"`
}

// Conditions are what a line is to be, in the words of test files. At least one is given.
type Conditions struct {
	Profile string `json:"profile,omitempty" doc:"name of a link, such as \"3g\"; values beside it replace its own"`
	RTT     string `json:"rtt,omitempty" limit:"up to 1m" doc:"such as \"40ms\"; half of it each way"`
	Down    string `json:"down,omitempty" limit:"1kbit to 100Gbit" doc:"to the device, such as \"5Mbit\""`
	Up      string `json:"up,omitempty" limit:"1kbit to 100Gbit" doc:"from the device"`
	Loss    string `json:"loss,omitempty" limit:"0% to 100%" doc:"of packets, each way, such as \"0.1%\""`
}

// Line is the result of network.set.
type Line struct {
	Job        string  `json:"job"`
	Conditions string  `json:"conditions" doc:"the new link, in the words of the recording's event"`
	RTTNS      int64   `json:"rtt_ns"`
	Down       int64   `json:"down_bits_per_second" doc:"0: not limited"`
	Up         int64   `json:"up_bits_per_second" doc:"0: not limited"`
	Loss       float64 `json:"loss_fraction" doc:"of packets, each way, on average"`

	AtNS          int64 `json:"at_ns" doc:"when it was changed, on the clock of the results; the event has the same"`
	UncertaintyNS int64 `json:"uncertainty_ns"`
}
