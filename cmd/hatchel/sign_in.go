package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/oauthclient"
	"hatchel/runtime/edge/server"
)

// keyHelp is the part about credentials in the help of the commands that make requests of a server.
const keyHelp = `The environment variable HATCHEL_KEY holds your API key or token, if the server needs
one. Without it, a server to which people sign in has you sign in by a browser: the
command opens it, or prints the address. The token is kept for the next commands, until
hatchel sign-out.`

// signInFlags are the flags of commands whose user may have to sign in to a server.
type signInFlags struct {
	clientID string
	silent   bool // nobody is asked to sign in, as when the shell completes a word
}

func (f *signInFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.clientID, "client-id", "", "sign in as the client with this `ID`, which somebody has "+
		"registered for this program where people sign in")
}

// newClient returns the client of a server, given its base URL or that of its MCP endpoint. Its user signs in when the
// server asks for that and the environment has no key.
func (f *signInFlags) newClient(cmd *cobra.Command, address string) (*server.Client, error) {
	client, err := newClient("--server", address)
	if err != nil {
		return nil, err
	}
	key, err := checkAddress("--server", address)
	if err != nil {
		return nil, err
	}
	tokens, err := f.tokens(cmd, address, key, func() {})
	if err != nil {
		return nil, err
	}
	if tokens != nil {
		client.UseTokens(tokens)
	}
	return client, nil
}

// tokens returns what adds the tokens of the user to requests; nil if there is a key, and for a server to which tokens
// would be sent unencrypted. Stop ends what is shown on the terminal, before the user is asked to sign in.
func (f *signInFlags) tokens(cmd *cobra.Command, address, key string, stop func()) (server.WithToken, error) {
	if key != "" || isReadable(address) {
		return nil, nil
	}
	client, err := f.oauthClient(cmd, address, stop)
	if err != nil {
		return nil, failf("%s", err)
	}
	return func(
		ctx context.Context, send func(token string) (*http.Response, error),
	) (*http.Response, error) {
		return client.Do(ctx, send)
	}, nil
}

// oauthClient returns the client of the user at the server of an address.
func (f *signInFlags) oauthClient(cmd *cobra.Command, address string, stop func()) (*oauthclient.Client, error) {
	o := oauthclient.Options{
		Endpoint: remoteEndpoint(address), ClientID: f.clientID, Agent: "hatchel/" + release(),
		Dir: oauthclient.DefaultDir(), Notes: noteWriter{cmd.ErrOrStderr(), stop},
		Open:        func(ctx context.Context, address string) { openBrowser(ctx, address) },
		Interactive: os.Getenv("CI") == "" || os.Getenv("BROWSER") != "",
	}
	if f.silent {
		o.Interactive = false
		return oauthclient.New(o)
	}
	if in := cmd.InOrStdin(); console.IsTerminal(cmd.ErrOrStderr()) {
		o.Interactive = true
		if console.IsTerminal(in) {
			o.Pasted = in
		}
	}
	return oauthclient.New(o)
}

// noteWriter writes notes where a spinner was, which it ends.
type noteWriter struct {
	to   io.Writer
	stop func()
}

func (w noteWriter) Write(p []byte) (int, error) {
	w.stop()
	return w.to.Write(p)
}

func signOutCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "sign-out",
		Short: "End the sign-in to a server",
		Long: `End the sign-in to the server that call, list, read and other commands with --server
have made: the server revokes the tokens, and this machine forgets them.`,
		Example: `  hatchel sign-out --server https://tools.example.com`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address == "" {
				return misusef("sign-out requires the server: --server URL")
			}
			if _, err := checkAddress("--server", address); err != nil {
				return err
			}
			client, err := new(signInFlags).oauthClient(cmd, address, func() {})
			if err != nil {
				return failf("%s", err)
			}
			defer client.Close()
			found, err := client.SignOut(cmd.Context())
			switch {
			case err != nil:
				return remoteFailure(cmd.Context(), err)
			case !found:
				return failf("you are not signed in to %s", strings.TrimSuffix(address, "/"))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), "signed out\n")
			return err
		},
	}
	cmd.Flags().StringVar(&address, "server", "", "`URL` of the server")
	return cmd
}
