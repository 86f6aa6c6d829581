package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
)

// Authority is who makes the certificates of a test network. Browsers that are started with it trust what it signed, in their new profile and nowhere else: nothing of the machine changes.
//
// Chromium takes the hash of its key on the command line, and holds no certificate that was signed with it against anything else. Firefox takes the certificate by a policy, which it reads beside
// a copy of its program (see foreign_linux.go).
type Authority struct {
	File    string // its certificate, PEM
	KeyHash string // SHA-256 of its public key in Base64
	// HTTP3 is spoken where servers offer it. Chromium trusts no authority of this kind for that unless it is told to speak nothing else, so it does then.
	HTTP3 bool
	// HTTP3Host is a host of which it is known before anything is heard of it that it speaks HTTP/3, at port 443; "": there is none. Firefox asks all others by TCP first.
	HTTP3Host string
}

// chromiumTrusts are the arguments by which Chromium trusts an authority.
func chromiumTrusts(a *Authority) []string {
	args := []string{"--ignore-certificate-errors-spki-list=" + a.KeyHash}
	if a.HTTP3 {
		args = append(args, "--enable-quic", "--origin-to-force-quic-on=*")
	}
	return args
}

// firefoxTrusts returns the kind whose profile speaks HTTP/3 with servers of an authority, or does not, and the policy by which it trusts it. first is what it begins with.
func firefoxTrusts(k kind, a *Authority, first string) (kind, string, error) {
	k.files = maps.Clone(k.files)
	// By itself it speaks no HTTP/3 as long as it trusts anybody but those who came with it.
	k.files["user.js"] += fmt.Sprintf("user_pref(\"network.http.http3.enable\", %v);\nuser_pref(\"network.http.http3.disable_when_third_party_roots_found\", false);\n", a.HTTP3)
	if a.HTTP3 && a.HTTP3Host != "" {
		// Note: it takes one host alone, and in the first moments of a new profile none.
		if u, err := url.Parse(first); err == nil && u.Hostname() == a.HTTP3Host {
			return k, "", fmt.Errorf("it asks for what it begins with by TCP, also where %s is known to speak HTTP/3: have it begin with another page: %w", a.HTTP3Host, errors.ErrUnsupported)
		}
		k.files["user.js"] += fmt.Sprintf("user_pref(\"network.http.http3.alt-svc-mapping-for-testing\", %q);\nuser_pref(\"network.http.http3.force-use-alt-svc-mapping-for-testing\", true);\n", a.HTTP3Host+";h3=:443")
	}
	file, err := filepath.Abs(a.File)
	if err != nil {
		return k, "", err
	}
	policy, err := json.Marshal(map[string]any{"policies": map[string]any{"Certificates": map[string]any{"Install": []string{file}}}})
	return k, string(policy), err
}

// together is two policies in one.
func together(a, b string) (string, error) {
	var x, y struct {
		Policies map[string]any `json:"policies"`
	}
	if a == "" {
		return b, nil
	}
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		return "", err
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		return "", err
	}
	maps.Copy(x.Policies, y.Policies)
	text, err := json.Marshal(x)
	return string(text), err
}
