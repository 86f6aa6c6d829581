package runfolder

import (
	"encoding/json"
	"time"

	"github.com/eideticker/eideticker/analyze/response"
)

// maxScanOut bounds what a recording is believed.
const maxScanOut = 10 * time.Second

// path adds the recording's facts about the way from the screen: its source's certified delay, and
// the time from the signal's first row to its last.
func (a *analysis) path(o *response.Options) {
	for _, m := range a.reader.Metadata() {
		switch {
		case m.Name == response.CertificateMetadata && !a.OwnDelay:
			if delay, within, ok := response.CertifiedDelay(m.Value); ok {
				o.Delay, o.DelayWithin = delay, within
			}
		case m.Name == "v4l2.device" && !a.OwnScanOut:
			var device struct {
				ScanOut int64 `json:"scan_out_ns"`
			}
			// A value of another form says nothing.
			if json.Unmarshal(m.Value, &device) == nil && device.ScanOut > 0 && device.ScanOut <= int64(maxScanOut) {
				o.ScanOut = time.Duration(device.ScanOut)
			}
		}
	}
}
