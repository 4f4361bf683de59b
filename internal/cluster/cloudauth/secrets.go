// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/fluxcd/pkg/auth"
)

// secrets collects texts that errors must not contain.
type secrets struct{ texts []string }

func (s *secrets) add(texts ...string) {
	for _, text := range texts {
		// A shorter one would match ordinary text.
		if len(text) >= 8 {
			s.texts = append(s.texts, text, url.QueryEscape(text))
		}
	}
}

func (s *secrets) hide(token auth.Token) {
	if config, ok := token.(*auth.RESTConfig); ok {
		s.add(config.BearerToken)
		return
	}
	texts, _ := contentOf(token)
	s.add(texts...)
}

// redact replaces the collected secrets in a text, and texts that look like tokens, because a cloud
// may quote others.
func (s *secrets) redact(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, hiddenText)
	}
	return tokens().ReplaceAllString(text, hiddenText)
}

const hiddenText = "[hidden]"

// tokens matches JSON Web Tokens and the tokens of EKS and Google.
func tokens() *regexp.Regexp {
	return regexp.MustCompile(`eyJ[\w-]{8,}\.[\w.-]+|k8s-aws-v1\.[\w-]+|ya29\.[\w.-]+`)
}
