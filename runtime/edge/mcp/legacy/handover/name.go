package handover

import (
	"encoding/hex"
	"errors"
)

// SessionName identifies a session in logs and between processes. The id itself is a credential and
// must not appear there.
type SessionName [16]byte

// String returns the name in hexadecimal digits.
func (n SessionName) String() string { return hex.EncodeToString(n[:]) }

// MarshalText implements encoding.TextMarshaler.
func (n SessionName) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, n[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *SessionName) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(n)) {
		return errors.New("the name of a session has another length")
	}
	_, err := hex.Decode(n[:], text)
	return err
}
