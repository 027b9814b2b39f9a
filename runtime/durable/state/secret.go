package state

import (
	"context"
	"crypto/rand"
	"math"
	"time"
)

// SecretSize is the length of the secret in bytes.
const SecretSize = 32

// The kind and the name of the record of the secret.
const (
	secretKind = "secret"
	secretName = "seal"
)

// Secret returns the random secret of a store. It is created at the first call and never changes.
func Secret(ctx context.Context, store Records) ([]byte, error) {
	if p, ok := store.(*Postgres); ok && p.secret != nil {
		return p.secret, nil
	}
	secret, err := store.Record(ctx, secretKind, secretName)
	if secret == nil && err == nil {
		created := &Record{
			Kind: secretKind, Name: secretName, Expires: time.UnixMilli(math.MaxInt64), Body: make([]byte, SecretSize),
			NoNotify: true,
		}
		rand.Read(created.Body)
		if secret, err = store.Add(ctx, created); secret == nil {
			secret = created
		}
	}
	if err != nil {
		return nil, err
	}
	return secret.Body, nil
}
