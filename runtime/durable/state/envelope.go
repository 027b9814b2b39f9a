package state

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// An envelope is what one NOTIFY carries: the name of its sender, and in base64 a counter and the sealed items. Any
// role of a database may LISTEN and NOTIFY, so envelopes are sealed with AES-GCM. The key belongs to the sender and
// is derived from the secret of the state, the nonce is the counter, and the associated data is the channel. The
// counter is the time in microseconds, or one more than that of the envelope before, so that an envelope that arrives
// again is recognised.
const (
	envelopeSize   = 7500 // bytes; PostgreSQL accepts 7999: https://www.postgresql.org/docs/current/sql-notify.html
	nameSize       = 26   // of rand.Text
	counterSize    = 8
	sealOverhead   = 16
	maxSealedItems = (envelopeSize-nameSize)*3/4 - counterSize - sealOverhead
	maxEnvelopeAge = MaxClockSkew // of the first one of a sender
)

var envelopeEncoding = base64.RawURLEncoding.Strict()

// item is one part of an envelope.
type item struct {
	kind itemKind
	body []byte
}

type itemKind byte

// The kinds of items, with their bodies.
const (
	changeItem        itemKind = iota + 1 // a record has changed: its kind, a space and its name; empty for any record
	messageItem                           // a number of the sender, and a message for Receive
	ackItem                               // the number of a message that was received
	storedMessageItem                     // the name of a stored message
)

// maxItemHeader is the size of an item without its body.
const maxItemHeader = 1 + binary.MaxVarintLen16

func appendItem(b []byte, i item) []byte {
	b = binary.AppendUvarint(append(b, byte(i.kind)), uint64(len(i.body)))
	return append(b, i.body...)
}

// splitItems is the inverse of appendItem for all items.
func splitItems(b []byte) (items []item) {
	for len(b) > 1 {
		size, n := binary.Uvarint(b[1:])
		if n <= 0 || size > uint64(len(b)-1-n) {
			break
		}
		end := 1 + n + int(size)
		items = append(items, item{itemKind(b[0]), b[1+n : end]})
		b = b[end:]
	}
	return items
}

// newEnvelopeSeal returns what seals the envelopes of a sender.
func newEnvelopeSeal(secret []byte, sender string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, []byte(sender), "news between processes", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func envelopeNonce(counter uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 4, 12), counter)
}

// envelopeWriter seals the envelopes of this process. It belongs to one goroutine.
type envelopeWriter struct {
	name    string
	seal    cipher.AEAD
	counter uint64
}

func (w *envelopeWriter) write(channel string, items []byte) string {
	w.counter = max(w.counter+1, uint64(time.Now().UnixMicro()))
	sealed := binary.BigEndian.AppendUint64(make([]byte, 0, counterSize+len(items)+sealOverhead), w.counter)
	sealed = w.seal.Seal(sealed, envelopeNonce(w.counter), items, []byte(channel))
	return w.name + envelopeEncoding.EncodeToString(sealed)
}

// envelopeReader opens the envelopes of all processes. It belongs to one goroutine.
type envelopeReader struct {
	secret  []byte
	senders map[string]*envelopeSender
}

type envelopeSender struct {
	seal cipher.AEAD
	last uint64 // counter of the last envelope
}

// read returns the sender and the items of an envelope. It reports false for one that no process has sealed for the
// channel, and for one that is older than another one of its sender.
func (r *envelopeReader) read(channel, payload string) (from string, items []item, ok bool) {
	if len(payload) < nameSize {
		return "", nil, false
	}
	from = payload[:nameSize]
	sealed, err := envelopeEncoding.DecodeString(payload[nameSize:])
	if err != nil || len(sealed) < counterSize {
		return "", nil, false
	}
	oldest := uint64(time.Now().Add(-maxEnvelopeAge).UnixMicro())
	sender, counter := r.senders[from], binary.BigEndian.Uint64(sealed)
	if sender == nil {
		seal, err := newEnvelopeSeal(r.secret, from)
		if err != nil {
			return "", nil, false
		}
		sender = &envelopeSender{seal: seal, last: oldest}
	}
	plain, err := sender.seal.Open(nil, envelopeNonce(counter), sealed[counterSize:], []byte(channel))
	if err != nil || counter <= sender.last {
		return "", nil, false
	}
	if sender.last == oldest { // it is new: senders that are forgotten now could not be received again either
		for name, s := range r.senders {
			if s.last < oldest {
				delete(r.senders, name)
			}
		}
		r.senders[from] = sender
	}
	sender.last = counter
	return from, splitItems(plain), true
}
