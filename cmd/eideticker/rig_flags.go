package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// rigAccess has the flags for access to a rig.
type rigAccess struct {
	TokenFile   string `placeholder:"FILE" help:"File with the rig's token (default: EIDETICKER_TOKEN)."`
	Fingerprint string `placeholder:"SHA256" env:"EIDETICKER_FINGERPRINT" help:"Fingerprint of the rig's certificate."`
}

// maxTokenBytes bounds a file with a token.
const maxTokenBytes = 4096

// open makes a client of a rig.
func (a rigAccess) open(address string) (*client.Client, error) {
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	c, err := client.New(address, token)
	if err != nil {
		return nil, usageError{err}
	}
	if a.Fingerprint != "" {
		if err := c.Trust(a.Fingerprint); err != nil {
			return nil, usageError{err}
		}
	}
	return c, nil
}

// token reads the token. A command line would be visible to all users.
func (a rigAccess) token() (string, error) {
	if a.TokenFile == "" {
		return os.Getenv("EIDETICKER_TOKEN"), nil
	}
	b, err := readBounded(a.TokenFile, maxTokenBytes)
	if err == nil && len(b) > maxTokenBytes {
		err = errors.New("too long for a token")
	}
	if err != nil {
		return "", fmt.Errorf("read the token in %s: %w", a.TokenFile, staging.WithoutPath(err))
	}
	return strings.TrimSpace(string(b)), nil
}
