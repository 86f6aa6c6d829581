package main

import (
	"context"
	"time"

	"github.com/eideticker/eideticker/controller/input/adb"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/doctor"
)

// phones asks the adb server of this machine, and does not start one.
func phones(ctx context.Context) (p doctor.Phones) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	attached, err := adb.Server{}.Devices(ctx)
	for _, a := range attached {
		p.Attached = append(p.Attached, doctor.Phone{Serial: a.Serial, State: a.State})
	}
	p.Err = err
	return p
}

// boxConfig is the configuration of a box's service.
const boxConfig = "/etc/eideticker/eideticker.toml"

// service tells the doctor of the daemon on this machine, of which nothing is started or changed.
func service(ctx context.Context) (s doctor.Service, dataDir string) {
	s.State, s.Err = doctor.AskService(ctx)
	c, err := config.Load(boxConfig, func(string) string { return "" })
	if err != nil {
		s.Config = err
		return s, ""
	}
	at, err := c.Address()
	if err != nil {
		s.Config = err
		return s, ""
	}
	s.Address, s.Answer = c.Listen, doctor.AskRig(ctx, at, c.Encrypted() != "off")
	return s, c.DataDir
}
