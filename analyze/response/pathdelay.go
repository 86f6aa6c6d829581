package response

import (
	"encoding/json"
	"time"
)

// CertificateMetadata names a recording's metadata about the certificate of its source.
const CertificateMetadata = "record.certificate"

// maxPathDelay bounds the delay that a certificate or a recording may state.
const maxPathDelay = 10 * time.Second

// PathDelay is the time from a picture on the output to its frame's time. Response times are
// corrected by it.
type PathDelay struct {
	Low    int64 `json:"low_ns"`
	Median int64 `json:"median_ns"`
	High   int64 `json:"high_ns"`
}

// Bounded reports whether the delay is ordered, positive and at most ten seconds.
func (d PathDelay) Bounded() bool {
	return d.Low >= 0 && d.Low <= d.Median && d.Median <= d.High && d.High > 0 && d.High <= int64(maxPathDelay)
}

// CertifiedDelay returns the delay that the metadata [CertificateMetadata] states, and its largest
// error. It returns false without a valid certificate.
func CertifiedDelay(value json.RawMessage) (delay, within time.Duration, ok bool) {
	var s struct {
		Certified bool       `json:"certified"`
		Verdict   string     `json:"verdict"`
		Delay     *PathDelay `json:"delay"`
	}
	if json.Unmarshal(value, &s) != nil || !s.Certified || s.Verdict == "fail" || s.Delay == nil || !s.Delay.Bounded() {
		return 0, 0, false
	}
	d := s.Delay
	return time.Duration(d.Median), time.Duration(max(d.High-d.Median, d.Median-d.Low)), true
}
