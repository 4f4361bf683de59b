// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/acl"
	"github.com/fluxcd/pkg/runtime/client"
	"github.com/fluxcd/pkg/runtime/jitter"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
)

// TestParseDefaults: the defaults are those of helm-controller.
func TestParseDefaults(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "flux-system")
	var out bytes.Buffer
	got, err := Parse(nil, &out)
	if err != nil {
		t.Fatal(err)
	}
	want := &Options{
		MetricsAddr: ":8080", HealthAddr: ":9440", Concurrent: 4, Client: client.Options{QPS: 50, Burst: 300},
		HTTPTimeout: 30 * time.Second, ArtifactMaxBytes: 100 << 20, ArtifactCacheBytes: 64 << 20,
		MinRetryDelay: 750 * time.Millisecond, MaxRetryDelay: 15 * time.Minute, IntervalJitter: jitter.IntervalOptions{Percentage: 5},
		GracefulShutdown: 10 * time.Minute,
		LeaderElection: leaderelection.Options{
			Enable: false, ReleaseOnCancel: true, LeaseDuration: 35 * time.Second, RenewDeadline: 30 * time.Second, RetryPeriod: 5 * time.Second,
		},
		WatchAllNamespaces: true, RuntimeNamespace: "flux-system", WatchConfigs: "reconcile.fluxcd.io/watch=Enabled",
		RequeueDependency: 30 * time.Second, OperationTimeout: time.Hour, OperationCleanupTimeout: time.Hour, HelmChartReinstall: ReinstallProtect, HTTPRetry: 9, DryRunDenials: "Try", SnapshotDigestAlgo: "sha256",
		TokenCacheMaxSize: 100, TokenCacheMaxDuration: time.Hour,
		Memory: MemoryWatch{Threshold: 95, Interval: 500 * time.Millisecond},
		Log:    logger.Options{LogLevel: "info", LogEncoding: "json"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Gates{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if out.Len() > 0 {
		t.Errorf("unexpected output %q", out.String())
	}
}

// TestParseEveryFlag: every flag and variable sets its option.
func TestParseEveryFlag(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "here")
	t.Setenv("SOURCE_CONTROLLER_LOCALHOST", "localhost:1")
	t.Setenv("SOURCE_WATCHER_LOCALHOST", "localhost:2")
	got, err := Parse([]string{
		"--metrics-addr=0", "--health-addr=:1", "--enable-pprof", "--concurrent=9", "--kube-api-qps=1.5", "--kube-api-burst=2",
		"--http-timeout=1s", "--artifact-max-bytes=3", "--artifact-cache-bytes=4", "--min-retry-delay=4s", "--max-retry-delay=5s",
		"--interval-jitter-percentage=0", "--graceful-shutdown-timeout=6s", "--enable-leader-election",
		"--leader-election-release-on-cancel=false", "--leader-election-lease-duration=7s",
		"--leader-election-renew-deadline=6s", "--leader-election-retry-period=1s",
		"--watch-all-namespaces=false", "--default-service-account=tenant", "--insecure-kubeconfig-exec", "--insecure-kubeconfig-tls", "--watch-configs-label-selector=a in (b,c)",
		"--events-addr=https://n.example/", "--http-retry=0", "--watch-label-selector=sharding.fluxcd.io/key=a", "--override-manager=a", "--override-manager=b",
		"--dry-run-denials=Refuse", "--snapshot-digest-algo=sha256", "--token-cache-max-size=0", "--token-cache-max-duration=2h",
		"--oom-watch-memory-threshold=100", "--oom-watch-interval=50ms", "--oom-watch-max-memory-path=/m", "--oom-watch-current-memory-path=/c",
		"--no-cross-namespace-refs", "--requeue-dependency=8s", "--operation-timeout=9s", "--operation-cleanup-timeout=11s", "--helmchart-reinstall=as-k3s", "--helmchart-archive-cidr=10.1.0.0/16", "--cluster-id=here-1", "--feature-gates=ExternalArtifact=true", "--log-level=trace", "--log-encoding=console", "--allow-second-controller", "--observe",
	}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	want := &Options{
		MetricsAddr: "0", HealthAddr: ":1", EnablePprof: true, Concurrent: 9, Client: client.Options{QPS: 1.5, Burst: 2},
		HTTPTimeout: time.Second, ArtifactMaxBytes: 3, ArtifactCacheBytes: 4, MinRetryDelay: 4 * time.Second, MaxRetryDelay: 5 * time.Second,
		GracefulShutdown:      6 * time.Second,
		DefaultServiceAccount: "tenant", Kubeconfig: client.KubeConfigOptions{InsecureExecProvider: true, InsecureTLS: true},
		LeaderElection: leaderelection.Options{Enable: true, LeaseDuration: 7 * time.Second, RenewDeadline: 6 * time.Second, RetryPeriod: time.Second},
		ACL:            acl.Options{NoCrossNamespaceRefs: true}, RequeueDependency: 8 * time.Second, OperationTimeout: 9 * time.Second, OperationCleanupTimeout: 11 * time.Second, HelmChartReinstall: ReinstallAsK3s, HelmChartArchiveCIDRs: []string{"10.1.0.0/16"}, ClusterID: "here-1", Gates: Gates{ExternalArtifact: true},
		EventsAddr: "https://n.example/", WatchLabels: "sharding.fluxcd.io/key=a", OverrideManagers: []string{"a", "b"},
		DryRunDenials: "Refuse", SnapshotDigestAlgo: "sha256", TokenCacheMaxDuration: 2 * time.Hour,
		Memory:           MemoryWatch{Threshold: 100, Interval: 50 * time.Millisecond, MaxPath: "/m", CurrentPath: "/c"},
		SourceController: "localhost:1", SourceWatcher: "localhost:2",
		AllowSecondController: true, Observe: true,
		RuntimeNamespace: "here", WatchConfigs: "a in (b,c)", Log: logger.Options{LogLevel: "trace", LogEncoding: "console"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Gates{})); diff != "" {
		t.Errorf("every flag (-want +got):\n%s", diff)
	}
}

const noAddress = "--events-addr: not an http or https URL, such as http://notification-controller.flux-system/"

// TestParseRefuses: invalid arguments are rejected with one message that names all of them.
func TestParseRefuses(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "")
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"UnknownFlag":     {reason: "an unknown flag is an error", args: []string{"--concurent=4"}, want: "unknown flag: --concurent"},
		"Argument":        {reason: "an argument is an error", args: []string{"--concurrent=4", "now"}, want: `unexpected argument "now"`},
		"NotANumber":      {reason: "a value of the wrong type is an error", args: []string{"--concurrent=many"}, want: `invalid argument "many" for "--concurrent" flag: strconv.ParseInt: parsing "many": invalid syntax`},
		"NoWorkers":       {reason: "one worker is the minimum", args: []string{"--concurrent=0"}, want: "--concurrent=0: at least 1"},
		"LessThanNoCache": {reason: "a size is not negative", args: []string{"--artifact-cache-bytes=-1"}, want: "--artifact-cache-bytes=-1: at least 0"},
		"NoBytes":         {reason: "a maximum size is positive", args: []string{"--artifact-max-bytes=0"}, want: "--artifact-max-bytes=0: at least 1"},
		"NegativeJitter":  {reason: "a percentage is not negative", args: []string{"--interval-jitter-percentage=-1"}, want: `invalid argument "-1" for "--interval-jitter-percentage" flag: strconv.ParseUint: parsing "-1": invalid syntax`},
		"TooMuchJitter":   {reason: "an interval must not become zero", args: []string{"--interval-jitter-percentage=100"}, want: "--interval-jitter-percentage=100: from 0 to 99"},
		"NoDelay":         {reason: "retries without a delay would not end", args: []string{"--min-retry-delay=0s"}, want: "--min-retry-delay=0s, --max-retry-delay=15m0s: more than zero, and the first at most the second"},
		"DelaysReversed":  {reason: "the maximum delay is not shorter than the first", args: []string{"--max-retry-delay=1ms"}, want: "--min-retry-delay=750ms, --max-retry-delay=1ms: more than zero, and the first at most the second"},
		"NoTimeout":       {reason: "a timeout is positive", args: []string{"--http-timeout=0s"}, want: "--http-timeout=0s: more than zero"},
		"NoRequeue":       {reason: "an interval is positive", args: []string{"--requeue-dependency=0s"}, want: "--requeue-dependency=0s: more than zero"},
		"NoRange":         {reason: "a range has a mask", args: []string{"--helmchart-archive-cidr=10.0.0.1"}, want: `--helmchart-archive-cidr: netip.ParsePrefix("10.0.0.1"): no '/'`},
		"ShardedCharts":   {reason: "HelmReleases of HelmCharts have no label", args: []string{"--feature-gates=HelmChartAPI=true", "--watch-label-selector=a=b"}, want: "the feature gate HelmChartAPI needs a --watch-label-selector that selects HelmReleases without labels of a shard, such as '!sharding.fluxcd.io/key', or none: set the gate only there"},
		"NoReinstall":     {reason: "only two values", args: []string{"--helmchart-reinstall=no"}, want: "--helmchart-reinstall=no: protect or as-k3s"},
		"NoCleanup":       {reason: "a second is the minimum", args: []string{"--operation-cleanup-timeout=0s"}, want: "--operation-cleanup-timeout=0s: at least a second"},
		"NoOperation":     {reason: "a second is the minimum", args: []string{"--operation-timeout=0s"}, want: "--operation-timeout=0s: at least a second"},
		"NoLabel":         {reason: "the value is a valid label value", args: []string{"--cluster-id=-"}, want: "--cluster-id=-: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		"UnknownGate":     {reason: "an unknown gate is an error", args: []string{"--feature-gates=Everything=true"}, want: `invalid argument "Everything=true" for "--feature-gates" flag: unknown feature gate "Everything"`},
		"NoNamespace":     {reason: "the one namespace to watch is required", args: []string{"--watch-all-namespaces=false"}, want: "--watch-all-namespaces=false needs RUNTIME_NAMESPACE in the environment"},
		"BadSelector":     {reason: "a selector is valid", args: []string{"--watch-configs-label-selector=a in"}, want: "--watch-configs-label-selector=a in: unable to parse requirement: found '' expected: '('"},
		"BadShard":        {reason: "a selector is valid", args: []string{"--watch-label-selector=a in"}, want: "--watch-label-selector=a in: unable to parse requirement: found '' expected: '('"},
		"NoScheme":        {reason: "a URL has a scheme", args: []string{"--events-addr=notification-controller/"}, want: noAddress},
		"OtherScheme":     {reason: "the scheme is http or https", args: []string{"--events-addr=ftp://user:hidden@host/"}, want: noAddress},
		"BadAddress":      {reason: "the error does not contain an invalid URL, which may have a password", args: []string{"--events-addr=http://user:hidden@[::/"}, want: noAddress},
		"LessThanNoRetry": {reason: "a number of retries is not negative", args: []string{"--http-retry=-1"}, want: "--http-retry=-1: at least 0"},
		"NoThreshold":     {reason: "a threshold of 0 would end the controller at its start", args: []string{"--oom-watch-memory-threshold=0"}, want: "--oom-watch-memory-threshold=0: from 1 to 100"},
		"NeverThreshold":  {reason: "a threshold above 100 would have no effect", args: []string{"--oom-watch-memory-threshold=101"}, want: "--oom-watch-memory-threshold=101: from 1 to 100"},
		"RestlessWatch":   {reason: "checks that are too frequent cost CPU", args: []string{"--oom-watch-interval=49ms"}, want: "--oom-watch-interval=49ms: at least 50ms"},
		"NegativeCache":   {reason: "a size is not negative", args: []string{"--token-cache-max-size=-1"}, want: "--token-cache-max-size=-1: at least 0"},
		"NegativeAge":     {reason: "an age is not negative", args: []string{"--token-cache-max-duration=-1s"}, want: "--token-cache-max-duration=-1s: at least 0s"},
		"OtherDigest":     {reason: "unsupported values are rejected", args: []string{"--snapshot-digest-algo=blake3"}, want: "--snapshot-digest-algo=blake3: only sha256 is supported"},
		"NoIdentity":      {reason: "unsupported combinations are rejected", args: []string{"--default-kubeconfig-service-account=a"}, want: "--default-kubeconfig-service-account needs the feature gate ObjectLevelWorkloadIdentity"},
		"OtherDenials":    {reason: "denials are tried or refused", args: []string{"--dry-run-denials=try"}, want: "--dry-run-denials=try: Try or Refuse"},
		"UnknownLevel":    {reason: "a level is one of four", args: []string{"--log-level=loud"}, want: "--log-level=loud: trace, debug, info or error"},
		"UnknownEncoding": {reason: "an encoding is one of two", args: []string{"--log-encoding=xml"}, want: "--log-encoding=xml: json or console"},
		"All":             {reason: "all invalid values are in the error", args: []string{"--concurrent=0", "--log-encoding=xml"}, want: "--concurrent=0: at least 1\n--log-encoding=xml: json or console"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := Parse(tc.args, &out)
			if out.Len() > 0 {
				t.Errorf("%s: a second message beside the error: %s", tc.reason, out.String())
			}
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

// TestParseHelp: --help returns pflag.ErrHelp and lists every flag.
func TestParseHelp(t *testing.T) {
	var out bytes.Buffer
	if _, err := Parse([]string{"--help"}, &out); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("--help returns %v, want pflag.ErrHelp", err)
	}
	fs := new(Options).flags()
	for _, name := range referenceFlags(t) {
		if !strings.Contains(out.String(), "-"+name+" ") && !strings.Contains(out.String(), "-"+name+"\n") {
			t.Errorf("the help lacks --%s of helm-controller", name)
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" || !strings.Contains(out.String(), "-"+f.Name+" ") && !strings.Contains(out.String(), "-"+f.Name+"\n") {
			t.Errorf("the help lacks --%s:\n%s", f.Name, out.String())
		}
	})
}

// referenceFlags returns the flags of helm-controller 1.6.
func referenceFlags(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("testdata/reference-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(raw))
}

// TestReferenceFlags: every flag of helm-controller is accepted, and the help of every other flag
// says that helm-controller does not have it.
func TestReferenceFlags(t *testing.T) {
	theirs := referenceFlags(t)
	fs := new(Options).flags()
	for _, name := range theirs {
		if fs.Lookup(name) == nil {
			t.Errorf("--%s is unknown", name)
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if own := !slices.Contains(theirs, f.Name); own != strings.HasSuffix(f.Usage, ownFlag) {
			t.Errorf("--%s: own flag is %t, but its help is %q", f.Name, own, f.Usage)
		}
	})
}

// TestReferenceDeployment: the arguments in helm-controller's Deployment are valid.
func TestReferenceDeployment(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "flux-system")
	o, err := Parse([]string{
		"--events-addr=http://notification-controller.flux-system.svc.cluster.local./", "--watch-all-namespaces",
		"--log-level=info", "--log-encoding=json", "--enable-leader-election", "--feature-gates", "OOMWatch=true,CacheSecretsAndConfigMaps=true",
	}, io.Discard)
	if err != nil || !o.LeaderElection.Enable || !o.Gates.OOMWatch {
		t.Errorf("%+v: %v", o, err)
	}
}

// TestNotices: each option without an effect has one notice.
func TestNotices(t *testing.T) {
	for args, want := range map[string]int{
		"": 0, "--observe --events-addr=http://n": 1, "--events-addr=http://n": 0,
		"--feature-gates=DetectDrift=false,ExternalArtifact=true": 0, "--feature-gates=DetectDrift=true,DetectDrift=false": 0,
		"--feature-gates=DetectDrift=true,CacheSecretsAndConfigMaps=true": 2, "--token-cache-max-size=7": 1, "--token-cache-max-size=0": 0, "--token-cache-max-duration=1m": 0,
	} {
		o, err := Parse(strings.Fields(args), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Notices(); len(got) != want {
			t.Errorf("%q has %d notices, want %d: %q", args, len(got), want, got)
		}
	}
}

// TestShards: each selector has a Lease of its own, with the name that helm-controller gives it.
// A shard of helm-controller and one of Pintle are then never active at the same time.
func TestShards(t *testing.T) {
	all := &Options{}
	if got := all.LeaseName("helm-controller-leader-election"); got != "helm-controller-leader-election" || all.Selector() != nil {
		t.Errorf("without a selector: Lease %s, selector %v", got, all.Selector())
	}
	one := &Options{WatchLabels: "sharding.fluxcd.io/key=shard1"}
	// The suffix is from `printf %s sharding.fluxcd.io/key=shard1 | sha256sum`.
	if got := one.LeaseName("helm-controller-leader-election"); got != "helm-controller-leader-election-73fdc1be" {
		t.Errorf("a shard has Lease %s", got)
	}
	for label, want := range map[string]bool{"shard1": true, "shard2": false} {
		if one.Selector().Matches(labels.Set{"sharding.fluxcd.io/key": label}) != want {
			t.Errorf("label %s matches: %t, want %t", label, !want, want)
		}
	}
}

// TestConfigSelector: an empty selector selects everything, and an invalid one nothing.
func TestConfigSelector(t *testing.T) {
	watched := labels.Set{"reconcile.fluxcd.io/watch": "Enabled"}
	for text, want := range map[string]bool{"reconcile.fluxcd.io/watch=Enabled": true, "": true, "a=b": false, "a=b=c": false} {
		if got := (&Options{WatchConfigs: text}).ConfigSelector().Matches(watched); got != want {
			t.Errorf("%q matches %v: %t, want %t", text, watched, got, want)
		}
	}
}

// TestLooksForOthers: other controllers matter to one that elects a leader and watches all
// namespaces.
func TestLooksForOthers(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "here")
	for args, want := range map[string]bool{
		"--enable-leader-election": true, "": false, "--enable-leader-election --allow-second-controller": false,
		"--enable-leader-election --watch-all-namespaces=false": false,
	} {
		o, err := Parse(strings.Fields(args), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.LooksForOthers(); got != want {
			t.Errorf("%q: %t, want %t", args, got, want)
		}
	}
}

// TestSummary: the log says what is reconciled, and no password.
func TestSummary(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "flux-system")
	for args, want := range map[string]string{
		"": `[namespaces all selector  concurrent 4 defaultServiceAccount  leaderElection false eventsHost none metricsAddr :8080 noCrossNamespaceRefs false]`,
		"--watch-all-namespaces=false --watch-label-selector=a=b --default-service-account=tenant --enable-leader-election --concurrent=9 " +
			"--events-addr=http://user:secret@notify.flux-system/ --no-cross-namespace-refs": `[namespaces flux-system selector a=b concurrent 9 defaultServiceAccount tenant leaderElection true eventsHost notify.flux-system metricsAddr :8080 noCrossNamespaceRefs true]`,
	} {
		o, err := Parse(strings.Fields(args), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(o.Summary()); got != want {
			t.Errorf("%s:\n%s, want\n%s", args, got, want)
		}
	}
}
