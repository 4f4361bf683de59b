// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"fmt"
	"time"

	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/auth/aws"
	"github.com/fluxcd/pkg/auth/azure"
	"github.com/fluxcd/pkg/auth/gcp"
)

const azureName = azure.ProviderName

func providerOf(name string) (auth.RESTConfigProvider, error) {
	switch name {
	case aws.ProviderName:
		return aws.Provider{}, nil
	case azure.ProviderName:
		return azure.Provider{}, nil
	case gcp.ProviderName:
		return gcp.Provider{}, nil
	}
	return nil, fmt.Errorf("unknown provider %q", name)
}

// contentOf returns the secrets in a token of a cloud and its expiry. The expiry is zero if it is
// not known.
func contentOf(token auth.Token) (texts []string, expires time.Time) {
	switch t := token.(type) {
	case *aws.Credentials:
		for _, text := range []*string{t.SecretAccessKey, t.SessionToken} {
			if text != nil {
				texts = append(texts, *text)
			}
		}
		if t.Expiration != nil {
			expires = *t.Expiration
		}
	case *azure.Token:
		texts, expires = []string{t.Token}, t.ExpiresOn
	case *gcp.Token:
		texts, expires = []string{t.AccessToken}, t.Expiry
	}
	return texts, expires
}
