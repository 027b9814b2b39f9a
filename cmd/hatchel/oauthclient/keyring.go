package oauthclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hatchel/internal/filelock"
)

// keyringTimeout bounds a program of the keyring, which may ask the user to unlock it.
const keyringTimeout = 30 * time.Second

const keySize = 32 // bytes, of AES-256

// keyring is where the system keeps secrets of the user: the keychain of macOS, or the Secret Service of a desktop. It
// is asked through the program that the system has for it. It keeps one key, because its values are short.
type keyring struct {
	name  string
	find  []string // the command that prints the key in hexadecimal
	store func(key string) (command []string, input string)
}

// systemKeyring returns the keyring of this system; one without a command where there is none.
func systemKeyring() keyring {
	const service, account = "hatchel", "sign-ins"
	if runtime.GOOS == "darwin" {
		const program = "/usr/bin/security"
		return keyring{
			name: "keychain", find: []string{program, "find-generic-password", "-s", service, "-a", account, "-w"},
			store: func(key string) ([]string, string) { // as input, since others can read command lines
				line := "add-generic-password -U -s " + service + " -a " + account + " -w " + key + "\n"
				return []string{program, "-i"}, line
			},
		}
	}
	const program = "secret-tool"
	attributes := []string{"service", service, "account", account}
	if _, err := exec.LookPath(program); err != nil {
		return keyring{}
	}
	return keyring{
		name: "Secret Service of this desktop", find: append([]string{program, "lookup"}, attributes...),
		store: func(key string) ([]string, string) {
			return append([]string{program, "store", "--label=Hatchel: key of the sign-ins"}, attributes...), key
		},
	}
}

// Find returns the key; nil if there is none.
func (k keyring) Find(ctx context.Context) ([]byte, error) {
	if k.find == nil {
		return nil, nil
	}
	text, err := runKeyring(ctx, k.find, "")
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keySize {
		return nil, errors.New("the keyring has another value")
	}
	return key, nil
}

// FindOrMake returns the key, and makes it if there is none; nil where the system keeps no keys, or does not now, as on
// a desktop to which somebody is connected by SSH. The directory is where processes exclude each other.
func (k keyring) FindOrMake(ctx context.Context, dir string) []byte {
	if k.find == nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, "keyring.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil
	}
	defer f.Close()
	if filelock.Lock(ctx, f) != nil {
		return nil
	}
	if key, err := k.Find(ctx); err == nil && key != nil {
		return key
	}
	key := make([]byte, keySize)
	rand.Read(key)
	command, input := k.store(hex.EncodeToString(key))
	if _, err := runKeyring(ctx, command, input); err != nil {
		return nil
	}
	// A keyring that says nothing and keeps nothing would lose the sign-in.
	if found, err := k.Find(ctx); err != nil || !bytes.Equal(found, key) {
		return nil
	}
	return key
}

func runKeyring(ctx context.Context, command []string, input string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, keyringTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(input)
	return cmd.Output()
}
