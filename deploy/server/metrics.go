package server

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// figures collects what the daemon counts, when it is asked.
type figures struct{ server *Server }

// Descriptions of the metrics. Names include units, as usual in Prometheus.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("eideticker_"+name, help, labels, nil)
}

// newRegistry returns what /metrics shows.
func (s *Server) newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		figures{s})
	if s.o.Fleet != nil {
		r.MustRegister(s.o.Fleet)
	}
	return r
}

// Describe implements prometheus.Collector. It says nothing beforehand: which devices and causes
// there are shows.
func (figures) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f figures) Collect(to chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	now := f.server.daemon.Figures()
	captured := describe("captured_frames_total", "Frames that were stored.", "device")
	for device, n := range now.Captured {
		count(captured, n, device)
	}
	nested := func(d *prometheus.Desc, of map[string]map[string]uint64) {
		for a, inner := range of {
			for b, n := range inner {
				count(d, n, a, b)
			}
		}
	}
	nested(describe("lost_frames_total", "Frames that are missing in recordings that have ended, by cause.", "device",
		"cause"), now.Lost)
	nested(describe("runs_total", "Runs that are over, by state.", "device", "state"), now.Runs)
	nested(describe("jobs_total", "Jobs that are over, by state.", "kind", "state"), now.Jobs)
	count(describe("deleted_runs_total", "Runs that were deleted to make room."), now.Deleted)
	gauge(describe("queued_jobs", "Jobs that wait."), float64(now.Queued))
	gauge(describe("working_jobs", "Jobs at work."), float64(now.Working))

	status := f.server.daemon.Status()
	gauge(describe("store_used_bytes", "Bytes of all runs."), float64(status.Store.UsedBytes))
	gauge(describe("store_free_bytes", "Bytes that are free on the file system."), float64(status.Store.FreeBytes))
	gauge(describe("store_runs", "Runs in the store."), float64(status.Store.Runs))
	gauge(describe("websocket_clients", "Clients that are connected by websocket."), float64(f.server.clients.Load()))
	if e := f.server.o.Engine; e != nil {
		b := e.Budget()
		gauge(describe("alarm_confirmations", "Confirmations that began in the last period."), float64(b.Used))
		gauge(describe("alarm_confirmations_allowed", "Confirmations that may begin in a period."),
			float64(b.Confirmations))
	}
	fill := describe("ring_fill_ratio", "How full the ring of the recording at work is; at 1 frames are lost.",
		"device")
	share := describe("encoding_ratio", "Part of the time in which the recorder is at work on frames.", "device")
	state := describe("device_state", "1 for the state that a device is in.", "device", "state")
	for _, d := range status.Devices {
		gauge(state, 1, d.Name, d.State)
		if c := d.Capture; c != nil {
			gauge(fill, c.RingFill, d.Name)
			gauge(share, c.Encoding, d.Name)
		}
	}
}
