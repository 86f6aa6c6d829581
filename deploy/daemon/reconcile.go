package daemon

import (
	"context"
	"time"
)

// reconcileEvery is how often folders are looked for that somebody has put among the runs, changed
// or taken away. With ten thousand runs that takes a second or two.
const reconcileEvery = 15 * time.Minute

// reconcile holds the store against its folders from time to time, when no job is at work.
func (d *Daemon) reconcile(ctx context.Context) {
	due := d.options.Reconcile
	if due == nil {
		ticker := time.NewTicker(reconcileEvery)
		defer ticker.Stop()
		due = ticker.C
	}
	for {
		select {
		case <-due:
			d.reconcileOnce(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// reconcileOnce does it now, until a job begins.
func (d *Daemon) reconcileOnce(ctx context.Context) {
	defer d.options.at("reconciled")
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d.mu.Lock()
	quiet := len(d.working) == 0 && !d.ending
	if quiet {
		d.hurry = stop
	}
	d.mu.Unlock()
	if !quiet {
		return
	}
	changed, err := d.store.Reconcile(ctx, func(int, int) { d.options.at("reconciling") })
	if err != nil && ctx.Err() == nil {
		d.log.Warn("the store could not be held against its folders", "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hurry = nil
	if changed > 0 {
		d.log.Info("folders of runs were changed by hand, and the index knows now", "folders", changed)
		d.stored("", "changed", "by hand")
	}
}
