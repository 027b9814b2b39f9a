package state

import (
	"context"
	"crypto/rand"
	"math"
	"time"
)

// SecretSize is how many bytes Secret gives.
const SecretSize = 32

// Secret returns random bytes that were made once and are the same for ever, for all who share what is behind the records.
func Secret(ctx context.Context, in Records) ([]byte, error) {
	const kind, name = "secret", "seal"
	secret, err := in.Record(ctx, kind, name)
	if secret == nil && err == nil {
		made := &Record{Kind: kind, Name: name, Expires: time.UnixMilli(math.MaxInt64), Body: make([]byte, SecretSize), Quiet: true}
		rand.Read(made.Body)
		if secret, err = in.Add(ctx, made); secret == nil {
			secret = made
		}
	}
	if err != nil {
		return nil, err
	}
	return secret.Body, nil
}
