package rig

import (
	"context"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// systemd reports the state of the service to systemd, if that started it. Errors are ignored.
type systemd struct{}

func (systemd) ready() { _, _ = sd.SdNotify(false, sd.SdNotifyReady) }

func (systemd) ending() { _, _ = sd.SdNotify(false, sd.SdNotifyStopping) }

// busy asks for more time before the service is ready.
func (systemd) busy(status string) {
	_, _ = sd.SdNotify(false, "EXTEND_TIMEOUT_USEC=60000000\nSTATUS="+status)
}

// watch tells the watchdog that the service is well, as long as it is.
func (systemd) watch(ctx context.Context, health func() error) {
	every, err := sd.SdWatchdogEnabled(false)
	if err != nil || every == 0 {
		return
	}
	ticker := time.NewTicker(every / 3)
	defer ticker.Stop()
	for {
		if health() == nil {
			_, _ = sd.SdNotify(false, sd.SdNotifyWatchdog)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
