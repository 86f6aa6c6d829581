package remote

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/controller/input"
)

// tellOldRig writes the first message of version 1, which a rig of that version waits for. It then
// reports the two versions.
func tellOldRig(conn net.Conn) error {
	hello := map[string]any{"protocol": "eideticker-input", "version": version, "nonce": make([]byte, 32)}
	body, err := json.Marshal(hello)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

// versionError says that an agent speaks another version of the protocol.
func versionError(theirs int) error {
	return fmt.Errorf("it speaks version %d of the protocol, this program %d; use builds of the same release", theirs,
		version)
}

// greetingError says which peer it is that does not speak as an agent does.
func greetingError(err error) error {
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &plain) && plain.RecordHeader[0] == 0 && plain.RecordHeader[4] == '{':
		return versionError(1)
	case errors.As(err, &plain) || errors.Is(err, websocket.ErrBadHandshake):
		return errors.New("it is not an input agent")
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: it did not answer in time", input.ErrGone)
	}
	return err
}
