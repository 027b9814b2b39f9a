package main

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"github.com/spf13/cobra"

	"hatchel/hcl"
)

func keyCommand() *cobra.Command {
	key := &cobra.Command{Use: "key", Short: "Generate API keys"}
	key.AddCommand(&cobra.Command{
		Use:   "new",
		Short: "Print a new API key and its digest",
		Long: `Print a new API key, for the caller, and its SHA-256 digest, for an api_key block.
Nothing is stored. For people who sign in at a provider in place of a key, see
sign_in in the auth block: hatchel docs auth.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := hcl.KeyPrefix + rand.Text()
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "key     %s\nsha256  %x\n", text, sha256.Sum256([]byte(text)))
			return err
		},
	})
	return key
}
