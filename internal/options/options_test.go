// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

func TestParseDefaults(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "flux-system")
	var out bytes.Buffer
	got, err := Parse(nil, &out)
	if err != nil {
		t.Fatal(err)
	}
	// These are what users of the reference rely on without writing them down.
	want := &Options{
		MetricsAddr: ":8080", HealthAddr: ":9440", Concurrent: 4, KubeAPIQPS: 50, KubeAPIBurst: 300,
		HTTPTimeout: 30 * time.Second, ArtifactMaxBytes: 100 << 20, ArtifactCacheBytes: 64 << 20,
		MinRetryDelay: 750 * time.Millisecond, MaxRetryDelay: 15 * time.Minute, IntervalJitter: 5,
		GracefulShutdown: 10 * time.Minute,
		LeaderElect:      false, LeaderElectReleaseOnEnd: true,
		LeaseDuration: 35 * time.Second, LeaseRenewDeadline: 30 * time.Second, LeaseRetryPeriod: 5 * time.Second,
		WatchAllNamespaces: true, RuntimeNamespace: "flux-system", WatchConfigs: "reconcile.fluxcd.io/watch=Enabled",
		RequeueDependency: 30 * time.Second,
		LogLevel:          "info", LogEncoding: "json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if out.Len() > 0 {
		t.Errorf("nothing to say, but said %q", out.String())
	}
}

func TestParseEveryFlag(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "here")
	got, err := Parse([]string{
		"--metrics-addr=0", "--health-addr=:1", "--enable-pprof", "--concurrent=9", "--kube-api-qps=1.5", "--kube-api-burst=2",
		"--http-timeout=1s", "--artifact-max-bytes=3", "--artifact-cache-bytes=4", "--min-retry-delay=4s", "--max-retry-delay=5s",
		"--interval-jitter-percentage=0", "--graceful-shutdown-timeout=6s", "--enable-leader-election",
		"--leader-election-release-on-cancel=false", "--leader-election-lease-duration=7s",
		"--leader-election-renew-deadline=6s", "--leader-election-retry-period=1s",
		"--watch-all-namespaces=false", "--default-service-account=tenant", "--insecure-kubeconfig-exec", "--insecure-kubeconfig-tls", "--watch-configs-label-selector=a in (b,c)",
		"--no-cross-namespace-refs", "--requeue-dependency=8s", "--feature-gates=ExternalArtifact=true", "--log-level=trace", "--log-encoding=console",
	}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	want := &Options{
		MetricsAddr: "0", HealthAddr: ":1", EnablePprof: true, Concurrent: 9, KubeAPIQPS: 1.5, KubeAPIBurst: 2,
		HTTPTimeout: time.Second, ArtifactMaxBytes: 3, ArtifactCacheBytes: 4, MinRetryDelay: 4 * time.Second, MaxRetryDelay: 5 * time.Second,
		GracefulShutdown: 6 * time.Second, LeaderElect: true,
		DefaultServiceAccount: "tenant", InsecureKubeconfigExec: true, InsecureKubeconfigTLS: true,
		LeaseDuration: 7 * time.Second, LeaseRenewDeadline: 6 * time.Second, LeaseRetryPeriod: time.Second,
		NoCrossNamespaceRefs: true, RequeueDependency: 8 * time.Second, Gates: Gates{ExternalArtifact: true},
		RuntimeNamespace: "here", WatchConfigs: "a in (b,c)", LogLevel: "trace", LogEncoding: "console",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("every flag (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "")
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"UnknownFlag":     {reason: "a flag that does not exist is a mistake", args: []string{"--concurent=4"}, want: "flag provided but not defined: -concurent"},
		"Argument":        {reason: "there are no arguments", args: []string{"--concurrent=4", "now"}, want: `unexpected argument "now"`},
		"NotANumber":      {reason: "a value of the wrong type is refused", args: []string{"--concurrent=many"}, want: `invalid value "many" for flag -concurrent: parse error`},
		"NoWorkers":       {reason: "somebody has to work", args: []string{"--concurrent=0"}, want: "--concurrent=0: at least 1"},
		"LessThanNoCache": {reason: "nothing is the least that can be kept", args: []string{"--artifact-cache-bytes=-1"}, want: "--artifact-cache-bytes=-1: at least 0"},
		"NoBytes":         {reason: "an artifact has bytes", args: []string{"--artifact-max-bytes=0"}, want: "--artifact-max-bytes=0: at least 1"},
		"NegativeJitter":  {reason: "jitter is a percentage", args: []string{"--interval-jitter-percentage=-1"}, want: "--interval-jitter-percentage=-1: from 0 to 99"},
		"TooMuchJitter":   {reason: "an interval must not become zero", args: []string{"--interval-jitter-percentage=100"}, want: "--interval-jitter-percentage=100: from 0 to 99"},
		"NoDelay":         {reason: "retrying at once for ever helps nobody", args: []string{"--min-retry-delay=0s"}, want: "--min-retry-delay=0s, --max-retry-delay=15m0s: more than zero, and not the wrong way round"},
		"DelaysReversed":  {reason: "the longest delay is not shorter than the first", args: []string{"--max-retry-delay=1ms"}, want: "--min-retry-delay=750ms, --max-retry-delay=1ms: more than zero, and not the wrong way round"},
		"NoTimeout":       {reason: "a download must end", args: []string{"--http-timeout=0s"}, want: "--http-timeout=0s: more than zero"},
		"NoRequeue":       {reason: "polling without a pause helps nobody", args: []string{"--requeue-dependency=0s"}, want: "--requeue-dependency=0s: more than zero"},
		"UnknownGate":     {reason: "a gate that does not exist is a mistake", args: []string{"--feature-gates=Everything=true"}, want: `invalid value "Everything=true" for flag -feature-gates: there is no feature gate "Everything"`},
		"NoNamespace":     {reason: "watching one namespace needs to know which", args: []string{"--watch-all-namespaces=false"}, want: "--watch-all-namespaces=false needs RUNTIME_NAMESPACE in the environment"},
		"BadSelector":     {reason: "a selector has a notation", args: []string{"--watch-configs-label-selector=a in"}, want: "--watch-configs-label-selector=a in: unable to parse requirement: found '' expected: '('"},
		"UnknownLevel":    {reason: "levels are few", args: []string{"--log-level=loud"}, want: "--log-level=loud: trace, debug, info or error"},
		"UnknownEncoding": {reason: "encodings are two", args: []string{"--log-encoding=xml"}, want: "--log-encoding=xml: json or console"},
		"All":             {reason: "all mistakes are named at once", args: []string{"--concurrent=0", "--log-encoding=xml"}, want: "--concurrent=0: at least 1\n--log-encoding=xml: json or console"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.args, &bytes.Buffer{})
			var got string
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: Parse(%q) (-want +got):\n%s", tc.reason, tc.args, diff)
			}
		})
	}
}

func TestParseHelp(t *testing.T) {
	var out bytes.Buffer
	if _, err := Parse([]string{"--help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("asking for help is no failure: %v", err)
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	new(Options).bind(fs)
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" || !strings.Contains(out.String(), "-"+f.Name+" ") && !strings.Contains(out.String(), "-"+f.Name+"\n") {
			t.Errorf("--%s is missing in the help:\n%s", f.Name, out.String())
		}
	})
}

func TestConfigSelector(t *testing.T) {
	watched := labels.Set{"reconcile.fluxcd.io/watch": "Enabled"}
	for text, want := range map[string]bool{"reconcile.fluxcd.io/watch=Enabled": true, "": true, "a=b": false, "a=b=c": false} {
		if got := (&Options{WatchConfigs: text}).ConfigSelector().Matches(watched); got != want {
			t.Errorf("%q selects what is labelled for watching: %t, want %t", text, got, want)
		}
	}
}
