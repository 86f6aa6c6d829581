// Written by `go test -run TestTypes -update` from the program's own types.

export interface Recording {
  id: string;
  name: string;
  file: string;
  frames: number;
  lost: number;
  width_px: number;
  height_px: number;
  pixel_format: string;
  period_ns: number;
  started_wall_ns: number;
  duration_ns: number;
  own_clock: boolean;
  unclosed: boolean;
}

export interface Settings {
  region: number[];
  masks: number[][];
  tolerance: number;
  min_pixels: number;
  strict: boolean;
  measures: string[];
  primary: string[];
}

export interface Value {
  name: string;
  unit: string;
  value: number;
  low: number;
  high: number;
  state: string;
  better: string;
  threshold: number;
  frames: number[];
  note?: string;
  text?: string;
  bounds_text?: string;
  meaning?: string;
}

export interface Series {
  name: string;
  unit: string;
  holds: boolean;
  frames: number[];
  values: number[];
}

export interface Evidence {
  kind: string;
  frame: number;
  rows: number[];
  region: number[];
  text: string;
}

export interface Result {
  measure: string;
  version: number;
  state: string;
  refusal?: string;
  values: Value[];
  series: Series[];
  evidence: Evidence[];
  warnings: string[];
  detail?: any;
}

export interface Calibration {
  frames: number;
  pattern_frames?: number;
  tolerance: number;
  min_pixels: number;
  false_rate: number;
  smallest_pixels: number;
  smallest_levels: number;
  columns: number;
  tiles: number[];
}

export interface T0 {
  at_ns: number;
  uncertainty_ns: number;
  source: string;
}

export interface Loss {
  before_frame: number;
  frames: number;
  cause: string;
}

export interface FrameTimes {
  first_frame: number;
  time_ns: number[];
  earliest_ns: number[];
  latest_ns: number[];
  lost: Loss[];
}

export interface Moment {
  frame: number;
  at_ns: number;
  at: string;
  what: string;
}

export interface Answer {
  sentence: string;
  primary: string[];
  moments: Moment[];
}

export interface ChannelLoss {
  before_frame: number;
  packets: number;
}

export interface ChannelMessage {
  frame: number;
  whole: number;
  clock_us: number;
  bytes: number;
  text: string;
}

export interface Channel {
  form: string;
  packet_bytes: number;
  frames: number;
  packets: number;
  bytes: number;
  packets_lost: number;
  packets_before: number;
  losses: ChannelLoss[];
  packets_broken: number;
  broken_frames: number[];
  messages: number;
  messages_cut: number;
  messages_told: number;
  messages_unsent: number;
  list: ChannelMessage[];
  text: string;
}

export interface Span {
  value: number;
  low: number;
  high: number;
}

export interface Check {
  what: string;
  unit: string;
  measured: Span;
  drawn: Span;
  claimed?: number;
  agrees: boolean;
  unchecked?: boolean;
  frames: number[];
  note?: string;
  measured_text?: string;
  measured_bounds_text?: string;
  drawn_text?: string;
  drawn_bounds_text?: string;
  claimed_text?: string;
}

export interface Picture {
  kind: string;
  file: string;
  data?: string;
  text: string;
  measure: string;
  frame: number;
}

export interface Window {
  name: string;
  kind: string;
  green_frame: number;
  start_frame: number;
  end_frame: number;
  red_frame: number;
  start_ns: number;
  end_ns: number;
  region: number[];
  masks: number[][];
  tolerance: number;
  min_pixels: number;
  noise?: Calibration;
  t0?: T0;
  frame_times: FrameTimes;
  answer: Answer;
  results: Result[];
  channel?: Channel;
  claims: {[name: string]: number};
  claim_texts?: {[name: string]: string};
  checks: Check[];
  pictures: Picture[];
  warnings: string[];
}

export interface Request {
  method: string;
  url: string;
  status: number;
  protocol: string;
  priority: string;
  reused: boolean;
  begin_ns: number;
  name_ns: number;
  connect_ns: number;
  tls_ns: number;
  wait_ns: number;
  load_ns: number;
  end_ns?: number;
  exact: boolean;
  wire_bytes: number;
  body_bytes: number;
  decoded_bytes: number;
}

export interface Traffic {
  name: string;
  requests: number;
  bytes: number;
}

export interface Network {
  profile: string;
  rtt_asked_ns: number;
  rtt_ns: number;
  down_asked_bits_per_second: number;
  down_bits_per_second: number;
  up_asked_bits_per_second: number;
  up_bits_per_second: number;
  loss_asked_fraction: number;
  loss_fraction: number;
  requests: number;
  missed: number;
  names_refused: number;
  connections: number;
  bytes_up: number;
  bytes_down: number;
  file: string;
  list: Request[];
  by_type: Traffic[];
  by_domain: Traffic[];
}

export interface ScriptPrograms {
  served: number;
  instrumented: number;
  bytes: number;
  covered_bytes: number;
  added_bytes: number;
  functions: number;
  functions_called: number;
  text: string;
}

export interface PlainScript {
  url: string;
  reason: string;
  count: number;
}

export interface ScriptRealm {
  kind: string;
  url: string;
}

export interface Gap {
  from_ns: number;
  to_ns: number;
  records: number;
  cause: string;
  realm: number;
}

export interface Place {
  function: string;
  url: string;
  line: number;
  column: number;
  source: string;
  source_line: number;
  text: string;
}

export interface BriefCalls {
  calls: number;
  most: Place;
}

export interface ScriptCost {
  per_call_ns: Span;
  counted_ns: Span;
  text: string;
}

export interface NativeCall {
  name: string;
  line: number;
  column: number;
  self_ns: Span;
  text: string;
}

export interface Function {
  name: string;
  url: string;
  line: number;
  column: number;
  source: string;
  source_line: number;
  calls: number;
  brief?: number;
  self_ns: Span;
  total_ns: Span;
  min_ns: Span;
  mean_ns: Span;
  max_ns: Span;
  natives?: NativeCall[];
  place: string;
  self_text: string;
  self_bounds_text: string;
  total_text: string;
  mean_text: string;
  max_text: string;
}

export interface Task {
  begin_ns: number;
  end_ns: number;
  function: number;
  realm: number;
  calls: number;
}

export interface ScriptError {
  kind: string;
  message: string;
  url: string;
  line: number;
  column: number;
  source: string;
  source_line: number;
  at_ns: number;
  count: number;
  frame: number;
  stack: Place[];
  place: string;
}

export interface RanMeantime {
  function: number;
  self_ns: Span;
}

export interface LateFrame {
  window: number;
  frame: number;
  response: boolean;
  load?: boolean;
  from_ns: number;
  to_ns: number;
  functions: RanMeantime[];
  native?: NativeCall;
  callers?: Place[];
  within?: boolean;
  brief?: BriefCalls;
  unexplained_ns: Span;
  sentence: string;
}

export interface SlowRequest {
  url: string;
  by: string;
  begin_ns: number;
  wait_ns: number;
  took_ns: number;
  text: string;
}

export interface PolicyColumn {
  name: string;
  unit: string;
}

export interface PolicyRow {
  name: string;
  url: string;
  line: number;
  column: number;
  values: number[];
  verdict: string;
  text: string;
  place: string;
  texts: string[];
}

export interface PolicyReport {
  policy: string;
  sentence: string;
  points: number;
  active: number;
  columns: PolicyColumn[];
  rows: PolicyRow[];
  rows_left_out: number;
}

export interface ScriptPlan {
  adapt: string;
  probability: number;
  points: number;
  active: number;
  slow: number;
  share: number;
  loads: number;
  needed: number;
  stable: boolean;
  plain: boolean;
  dropped: number;
  off: string;
  text: string;
}

export interface Script {
  sentence: string;
  policies: string[];
  programs: ScriptPrograms;
  plain: PlainScript[];
  realms: ScriptRealm[];
  clock_ns: number;
  records: number;
  lost: number;
  gaps: Gap[];
  lost_text: string;
  brief?: BriefCalls;
  cost: ScriptCost;
  functions: Function[];
  tasks: Task[];
  tasks_left_out: number;
  errors: ScriptError[];
  errors_left_out: number;
  late: LateFrame[];
  requests?: SlowRequest[];
  reports: PolicyReport[];
  plan?: ScriptPlan;
  warnings: string[];
  log: string;
}

export interface ProfileTrace {
  name: string;
  engine: string;
  way: string;
  why: string;
  events: number;
  lost: number;
  begin_ns: number;
  end_ns: number;
  clock_ns: number;
  clock_text: string;
  unnamed: number;
  cut: number;
  text: string;
}

export interface ProfileFunction {
  name: string;
  module: string;
  file: string;
  line: number;
  column: number;
  language: string;
  calls: number;
  self_ns: number;
  total_ns: number;
  text: string;
}

export interface ProfileThread {
  process: number;
  id: number;
  name: string;
  process_name: string;
  running_ns: number;
  lane: string;
  from_ns: number;
  step_ns: number;
  text: string;
}

export interface ProfileNode {
  function: number;
  ns: number;
  low_ns: number;
  high_ns: number;
  samples: number;
  text: string;
  callers: ProfileNode[];
}

export interface ProfileWait {
  ns: number;
  times: number;
  begin_ns: number;
  end_ns: number;
  functions: number[];
  woken_by: number;
  text: string;
}

export interface ProfileActive {
  thread: number;
  running_ns: Span;
  runnable_ns: Span;
  waiting_ns: Span;
  function: number;
  function_ns: Span;
  sampled: boolean;
  tree: ProfileNode[];
  waits: ProfileWait[];
  blocked: boolean;
  text: string;
}

export interface ProfileWork {
  kind: string;
  thread: number;
  ns: number;
}

export interface ProfileLate {
  window: number;
  frame: number;
  response: boolean;
  load?: boolean;
  from_ns: number;
  to_ns: number;
  threads: ProfileActive[];
  work: ProfileWork[];
  lost: string[];
  sentence: string;
  suspected: string;
}

export interface ProfileTest {
  function: number;
  late_ns: number;
  low_ns: number;
  high_ns: number;
  other_ns: number;
  frame_ns: number;
  frames: number;
  p: number;
  named: boolean;
  text: string;
}

export interface ProfileEvent {
  kind: string;
  name: string;
  thread: number;
  earliest_ns: number;
  latest_ns: number;
  duration_ns: number;
  frame: number;
  text: string;
}

export interface ProfileClaims {
  trace: string;
  window: number;
  by: string;
  frames: number;
  matched: number;
  delay_ns: Span;
  jank: number;
  jank_without_effect: number;
  late: number;
  late_called_good: number;
  good_frames: number[];
  text: string;
}

export interface SocketWait {
  thread: number;
  call: string;
  begin_ns: number;
  end_ns: number;
  bytes: number;
  request: string;
  link_ns: number;
  woken_ns: number;
  woken_thread: number;
  text: string;
}

export interface Profile {
  sentence: string;
  traces: ProfileTrace[];
  functions: ProfileFunction[];
  threads: ProfileThread[];
  late: ProfileLate[];
  tests: ProfileTest[];
  test_text: string;
  late_frames: number;
  other_frames: number;
  events: ProfileEvent[];
  events_left_out: number;
  claims: ProfileClaims[];
  sockets: SocketWait[];
  warnings: string[];
}

export interface Timing {
  name: string;
  at_ms: number;
  duration_ms?: number;
}

export interface Claims {
  sentence: string;
  result: Result;
  lcp_element?: string;
  lcp_region_px?: number[];
  origin_ns: number;
  origin_uncertainty_ns: number;
  user_timings: Timing[];
  console_errors: string[];
  by_type: Traffic[];
  by_domain: Traffic[];
}

export interface Video {
  file: string;
  map: string;
}

export interface Results {
  schema: string;
  version: number;
  recording: Recording;
  environment: {[name: string]: string};
  settings: Settings;
  quality: Result;
  windows: Window[];
  network?: Network;
  script?: Script;
  profile?: Profile;
  vitals?: Claims;
  video?: Video;
  pictures: Picture[];
  retried_runs: number;
  notes: string[];
}

export interface Info {
  driver: string;
  device: string;
  realism: string;
  latency_ns: number;
  note?: string;
}

export interface Pressure {
  some_fraction: number;
  full_fraction: number;
}

export interface Activity {
  processors: number;
  model: string;
  load_average: number | null;
  cpu_pressure: Pressure | null;
  io_pressure: Pressure | null;
  memory_pressure: Pressure | null;
  steal_fraction: number | null;
  others_fraction: number | null;
  programs: string[];
  temperature_celsius: number | null;
  temperature_sensor: string;
  governors: string[];
  noise: string;
}

export interface LocatePlace {
  selector: string;
  x_px: number;
  y_px: number;
}

export interface AskedDuration {
  asked: number;
  got: number;
}

export interface AskedRate {
  asked: number;
  got: number;
}

export interface AskedFloat64 {
  asked: number;
  got: number;
}

export interface Miss {
  method: string;
  url: string;
  count: number;
  why: string;
  nearest?: string;
}

export interface Replayed {
  archive: string;
  exact: number;
  loose: number;
  missed: number;
  fidelity_fraction: number;
  misses: Miss[];
}

export interface SessionNetwork {
  profile?: string;
  protocol?: string;
  key_log?: string;
  seed: number;
  rtt_ns: AskedDuration;
  down_bits_per_second: AskedRate;
  up_bits_per_second: AskedRate;
  loss_fraction: AskedFloat64;
  probe_packets: number;
  requests: number;
  missed: number;
  names_refused: number;
  connections: number;
  bytes_up: number;
  bytes_down: number;
  replay?: Replayed;
}

export interface SessionAnswer {
  kinds: string[];
  region_px?: number[];
  colour?: string;
  limit_ns?: number;
}

export interface Measured {
  t0?: string;
  begin_event?: string;
  still_ns?: number;
  end_event?: string;
  cadence_fps?: number;
  disjoint?: boolean;
  response: SessionAnswer;
}

export interface Record {
  schema: string;
  version: number;
  test: string;
  test_file?: string;
  address?: string;
  redirected_to?: string;
  device: string;
  browser: string;
  label?: string;
  branch?: string;
  revision?: string;
  set?: string;
  state: string;
  reason?: string;
  fault?: string;
  attempt: number;
  block: number;
  place: number;
  warm_up?: boolean;
  seed: number;
  primary?: string[];
  thresholds?: {[name: string]: number};
  budgets?: {[name: string]: string};
  started_wall_ns: number;
  elapsed_ns: number;
  program: string;
  environment: {[name: string]: string};
  input: Info | null;
  machine: Activity | null;
  places?: LocatePlace[];
  network: SessionNetwork | null;
  area_px: number[];
  pings: number;
  missed_pings: number;
  recording_id?: string;
  frames: number;
  lost_frames: number;
  window_frames: number;
  window_lost_frames: number;
  checks: number;
  checks_failed: string[];
  checks_not_made: string[];
  measured_by?: Measured;
  notes: string[];
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Slot {
  frame: number;
  sequence: number;
  time_ns: number;
  held?: boolean;
}

export interface Cut {
  slot: number;
  skipped: number;
}

export interface Map {
  version: number;
  width: number;
  height: number;
  rate_num: number;
  rate_den: number;
  content: Box;
  slots: Slot[];
  cuts: Cut[];
}

export interface Phase {
  name: string;
  run?: string;
  done: number;
  total: number;
  estimate_ns: number;
  since_ns: number;
}

export interface Made {
  run: string;
  variant: string;
  state: string;
  reason?: string;
  warm_up?: boolean;
}

export interface StartView {
  repeat: number;
  warm_up: number;
  retries: number;
  until_fail: boolean;
  no_video: boolean;
  variants: string[];
  plain?: string[];
}

export interface Job {
  job: string;
  kind: string;
  state: string;
  reason?: string;
  fault?: string;
  owner: string;
  test: string;
  label?: string;
  devices: string[];
  browsers: string[];
  position: number;
  queued_wall_ns: number;
  started_wall_ns: number;
  ended_wall_ns: number;
  seed: number;
  runs_done: number;
  runs_total: number;
  phase?: Phase;
  runs: Made[];
  params?: StartView;
}

export interface Reservation {
  owner: string;
  note?: string;
  until_wall_ns: number;
}

export interface Signal {
  width_px: number;
  height_px: number;
  pixel_format: string;
  period_ns: number;
}

export interface Capture {
  frames: number;
  lost_frames: number;
  bytes: number;
  ring_fill: number;
  encoding_share: number;
  elapsed_ns: number;
}

export interface Device {
  name: string;
  about?: string;
  source: string;
  input: string;
  browsers: string[];
  power: boolean;
  state: string;
  job?: string;
  in_use_by?: string;
  quarantine?: string;
  failures_in_row: number;
  reserved?: Reservation;
  signal?: Signal;
  capture?: Capture;
}

export interface Log {
  level: string;
  message: string;
  fields?: {[name: string]: string};
}

export interface ApiRecord {
  device: string;
  frames: number;
  lost_frames: number;
  bytes: number;
  ring_fill: number;
  encoding_share: number;
  elapsed_ns: number;
}

export interface Change {
  id: string;
  what: string;
  why?: string;
}

export interface FleetChange {
  rig?: string;
  job?: string;
}

export interface TrendChange {
  what: string;
  id?: number;
  bisect?: string;
}

export interface Event {
  seq: number;
  time_wall_ns: number;
  kind: string;
  job?: Job;
  phase?: Phase;
  job_id?: string;
  run?: Made;
  device?: Device;
  log?: Log;
  record?: ApiRecord;
  store?: Change;
  fleet?: FleetChange;
  trend?: TrendChange;
}

export interface RecordedEvent {
  at_ns: number;
  uncertainty_ns: number;
  source: string;
  kind: string;
  data?: any;
}

export interface RecordedEvents {
  events: RecordedEvent[];
}

export interface Empty {
}

export interface Space {
  used_bytes: number;
  free_bytes: number;
  max_bytes: number;
  runs: number;
  archive?: string;
}

export interface Status {
  program: string;
  host: string;
  now_wall_ns: number;
  started_wall_ns: number;
  state: string;
  seq: number;
  role: string;
  owner: string;
  devices: Device[];
  jobs: Job[];
  store: Space;
  clients: number;
}

export interface Test {
  name: string;
  about: string;
  standard: boolean;
  measures: string[];
  repeat: number;
  text?: string;
}

export interface TestProblem {
  file: string;
  line: number;
  column: number;
  problem: string;
}

export interface TestPolicy {
  name: string;
  meaning: string;
}

export interface Tests {
  tests: Test[];
  problems: TestProblem[];
  networks: string[];
  policies: TestPolicy[];
}

export interface TestName {
  test: string;
}

export interface Upload {
  test: string;
  files: {[name: string]: string};
}

export interface CheckParams {
  upload: Upload;
}

export interface Checked {
  name: string;
  problems: TestProblem[];
}

export interface Gestures {
  hover?: string[];
  click?: string[];
  text?: string;
  scroll?: boolean;
}

export interface Variant {
  name?: string;
  test?: string;
  url?: string;
  upload?: Upload;
  gestures?: Gestures;
  network?: string;
  device?: string;
  browser?: string;
}

export interface StartParams {
  test?: string;
  url?: string;
  upload?: Upload;
  gestures?: Gestures;
  network?: string;
  script?: string[];
  profile?: string;
  trace_limit_bytes?: number;
  strict?: boolean;
  profiled_only?: boolean;
  why_changed?: boolean;
  variants?: Variant[];
  devices?: string[];
  browsers?: string[];
  repeat?: number;
  warm_up?: number;
  cooldown_ns?: number;
  retries?: number;
  max_lost?: number;
  until_fail?: boolean;
  seed?: number;
  no_video?: boolean;
  videos?: number;
  filmstrip_step_ns?: number;
  vitals?: boolean;
  fresh?: boolean;
  label?: string;
  branch?: string;
  revision?: string;
  baseline?: string;
  judge_unlike?: boolean;
  reservation?: string;
  class?: string;
}

export interface JobID {
  job: string;
}

export interface Conditions {
  profile?: string;
  rtt?: string;
  down?: string;
  up?: string;
  loss?: string;
}

export interface NetworkParams {
  job: string;
  network: Conditions;
}

export interface Line {
  job: string;
  conditions: string;
  rtt_ns: number;
  down_bits_per_second: number;
  up_bits_per_second: number;
  loss_fraction: number;
  at_ns: number;
  uncertainty_ns: number;
}

export interface Jobs {
  jobs: Job[];
}

export interface ListParams {
  text?: string;
  test?: string;
  device?: string;
  browser?: string;
  label?: string;
  branch?: string;
  revision?: string;
  state?: string;
  verdict?: string;
  set?: string;
  from_wall_ns?: number;
  to_wall_ns?: number;
  limit?: number;
  cursor?: string;
}

export interface ApiValue {
  measure: string;
  name: string;
  unit: string;
  window?: string;
  value: number;
  low: number;
  high: number;
  state: string;
  text: string;
}

export interface RunInfo {
  run: string;
  set: string;
  test: string;
  device: string;
  browser: string;
  browser_version: string;
  label: string;
  branch: string;
  revision: string;
  state: string;
  reason?: string;
  started_wall_ns: number;
  elapsed_ns: number;
  frames: number;
  lost_frames: number;
  bytes: number;
  pinned: boolean;
  verdict: string;
  base?: string;
  warm_up: boolean;
  values: ApiValue[];
}

export interface Runs {
  runs: RunInfo[];
  next: string;
  total: number;
}

export interface RunID {
  run: string;
}

export interface File {
  name: string;
  bytes: number;
}

export interface RunDetail {
  run: string;
  set: string;
  test: string;
  device: string;
  browser: string;
  browser_version: string;
  label: string;
  branch: string;
  revision: string;
  state: string;
  reason?: string;
  started_wall_ns: number;
  elapsed_ns: number;
  frames: number;
  lost_frames: number;
  bytes: number;
  pinned: boolean;
  verdict: string;
  base?: string;
  warm_up: boolean;
  values: ApiValue[];
  environment: {[name: string]: string};
  files: File[];
}

export interface Deleted {
  run: string;
}

export interface PinParams {
  run: string;
  pinned: boolean;
}

export interface CleanParams {
  age_ns?: number;
  max_bytes?: number;
  remove?: boolean;
}

export interface UnusedFile {
  name: string;
  bytes: number;
  used_wall_ns: number;
  why: string;
}

export interface Cleaned {
  removed: boolean;
  left_bytes: number;
  files: UnusedFile[];
}

export interface SetInfo {
  set: string;
  test: string;
  label: string;
  branch: string;
  revision: string;
  started_wall_ns: number;
  runs: number;
  ok: number;
  failed: number;
  rejected: number;
  devices: string[];
  browsers: string[];
  verdicts: string[];
  counting: number;
  bytes: number;
  pinned: number;
}

export interface Sets {
  sets: SetInfo[];
  next: string;
  total: number;
}

export interface TrendParams {
  test: string;
  device?: string;
  browser?: string;
  branch?: string;
  measure: string;
  value: string;
  window?: string;
  from_wall_ns?: number;
  to_wall_ns?: number;
  limit?: number;
}

export interface Point {
  id: string;
  variant?: string;
  started_wall_ns: number;
  runs: number;
  device: string;
  browser: string;
  median: number;
  interval: boolean;
  low: number;
  high: number;
  text: string;
  interval_text: string;
  verdict: string;
  reason?: string;
  before?: string;
  label: string;
  revision: string;
}

export interface Trend {
  unit: string;
  better: string;
  points: Point[];
}

export interface Schedule {
  schedule: string;
  on?: string;
  cron?: string;
  tz?: string;
  tests: string[];
  devices: string[];
  needs?: string[];
  browsers: string[];
  control?: string;
  pool?: string;
  runs: number;
  class: string;
  paused: boolean;
  reason?: string;
  next_wall_ns: number;
  last_wall_ns: number;
  last_job?: string;
  queued: number;
  points: number;
  gap?: string;
}

export interface Schedules {
  schedules: Schedule[];
}

export interface ScheduleRun {
  schedule: string;
  build?: string;
}

export interface ScheduleStarted {
  jobs: string[];
}

export interface SchedulePause {
  schedule: string;
  paused: boolean;
  reason?: string;
}

export interface SeriesListParams {
  schedule?: string;
  test?: string;
  measure?: string;
  value?: string;
  device?: string;
  role?: string;
  limit?: number;
}

export interface ApiSeries {
  series: number;
  schedule: string;
  test: string;
  window?: string;
  measure: string;
  value: string;
  unit: string;
  better: string;
  version: number;
  device: string;
  network?: string;
  product: string;
  feed?: string;
  role: string;
  generation?: number;
  threshold: number;
  points: number;
  first_seq: number;
  last_seq: number;
  latest: string;
  change?: string;
}

export interface SeriesList {
  series: ApiSeries[];
  total: number;
}

export interface SeriesParams {
  series: number;
  from_seq?: number;
  to_seq?: number;
  limit?: number;
}

export interface SeriesPoint {
  seq: number;
  build: string;
  revision?: string;
  set: string;
  wall_ns: number;
  runs: number;
  median: number;
  low: number;
  high: number;
  text: string;
  interval: boolean;
}

export interface SeriesTile {
  first_seq: number;
  last_seq: number;
  points: number;
  min: number;
  median: number;
  max: number;
}

export interface SeriesGap {
  seq: number;
  build: string;
  reason: string;
}

export interface SeriesShift {
  change: number;
  series: number;
  kind?: string;
  first_seq: number;
  last_seq: number;
  state: string;
  reason?: string;
  shift: number;
  relative: boolean;
  low: number;
  high: number;
  p: number;
  direction: string;
  set?: string;
  found_wall_ns: number;
  text: string;
  explaining?: boolean;
  cause?: string;
}

export interface SeriesData {
  series: ApiSeries;
  level: number;
  points: SeriesPoint[];
  tiles: SeriesTile[];
  gaps: SeriesGap[];
  changes: SeriesShift[];
  with: ApiSeries[];
  release?: SeriesPoint;
}

export interface ChangeListParams {
  series?: number;
  state?: string;
  limit?: number;
}

export interface ChangeList {
  changes: SeriesShift[];
}

export interface ChangeID {
  change: number;
  reason?: string;
}

export interface PointRemove {
  rig?: string;
  set?: string;
  reason?: string;
}

export interface PointRemoved {
  points: number;
}

export interface AlertListParams {
  state?: string;
  limit?: number;
}

export interface Build {
  feed: string;
  seq: number;
  build: string;
  revision?: string;
  parent?: string;
  subject?: string;
  wall_ns: number;
  url?: string;
  sha256?: string;
  state: string;
  reason?: string;
}

export interface Alert {
  alert: number;
  kind?: string;
  schedule: string;
  feed: string;
  first_seq: number;
  last_seq: number;
  builds: Build[];
  state: string;
  owner?: string;
  note?: string;
  opened_wall_ns: number;
  changes: SeriesShift[];
  text: string;
  command: string;
}

export interface Budget {
  false_alarms: number;
  period_ns: number;
  confirmations: number;
  used: number;
  alpha: number;
  text: string;
}

export interface AlertList {
  alerts: Alert[];
  budget: Budget;
}

export interface AlertParams {
  alert: number;
  state?: string;
  owner?: string;
  note?: string;
}

export interface BisectParams {
  feed: string;
  good: string;
  bad?: string;
  test: string;
  value?: string;
  device?: string;
  browser?: string;
  budget?: number;
  max_lost?: number;
}

export interface BisectShift {
  estimate: number;
  low: number;
  high: number;
  text: string;
}

export interface BisectFound {
  good: string;
  bad: string;
  builds: Build[];
  shift: BisectShift;
  share: number;
  p: number;
}

export interface BisectStep {
  job: string;
  builds: string[];
  blocks: number;
  reason: string;
  broken?: string[];
  over: boolean;
}

export interface BisectBuild {
  seq: number;
  build: string;
  chance: number;
  values?: number[];
  broken?: boolean;
}

export interface Bisect {
  bisect: string;
  feed: string;
  good: string;
  bad?: string;
  test: string;
  value?: string;
  device?: string;
  browser?: string;
  budget?: number;
  max_lost?: number;
  state: string;
  text: string;
  reason?: string;
  owner: string;
  alert?: number;
  started_wall_ns: number;
  ended_wall_ns: number;
  job?: string;
  runs: number;
  left: number;
  unit?: string;
  relative: boolean;
  shift: BisectShift;
  detectable?: number;
  found: BisectFound[];
  steps?: BisectStep[];
  builds?: BisectBuild[];
}

export interface BisectID {
  bisect: string;
}

export interface Bisects {
  bisects: Bisect[];
}

export interface CompareParams {
  base: string;
  with: string;
  threshold?: number;
  primary?: string;
  judge_all?: boolean;
  judge_unlike?: boolean;
}

export interface Compared {
  base: string;
  with: string;
  outcome: string;
  sentence: string;
  comparison: any;
}

export interface Baseline {
  name: string;
  id: string;
}

export interface Baselines {
  baselines: Baseline[];
}

export interface AnalyzeParams {
  run: string;
  measures?: string[];
  tolerance?: number;
  region_px?: number[];
  from_frame?: number;
  to_frame?: number;
  no_video?: boolean;
}

export interface RecordParams {
  device: string;
  duration_ns?: number;
  keep_last_ns?: number;
  label?: string;
  reservation?: string;
}

export interface StopParams {
  device: string;
}

export interface Recorded {
  run: string;
}

export interface KeepParams {
  device: string;
  label?: string;
}

export interface DeviceList {
  devices: Device[];
}

export interface ReserveParams {
  device: string;
  for_ns: number;
  note?: string;
  key?: string;
  release?: boolean;
}

export interface Reserved {
  device: string;
  key: string;
  owner: string;
  note?: string;
  until_wall_ns: number;
}

export interface QuarantineParams {
  device: string;
  reason?: string;
  lift?: boolean;
}

export interface PowerParams {
  device: string;
  do: string;
}

export interface BuildListParams {
  feed: string;
  limit?: number;
}

export interface BuildList {
  builds: Build[];
  reason?: string;
}

export interface JobParams {
  job?: string;
  needs?: string[];
  replace?: boolean;
  test?: string;
  url?: string;
  upload?: Upload;
  gestures?: Gestures;
  network?: string;
  script?: string[];
  profile?: string;
  trace_limit_bytes?: number;
  strict?: boolean;
  profiled_only?: boolean;
  why_changed?: boolean;
  variants?: Variant[];
  devices?: string[];
  browsers?: string[];
  repeat?: number;
  warm_up?: number;
  cooldown_ns?: number;
  retries?: number;
  max_lost?: number;
  until_fail?: boolean;
  seed?: number;
  no_video?: boolean;
  videos?: number;
  filmstrip_step_ns?: number;
  vitals?: boolean;
  fresh?: boolean;
  label?: string;
  branch?: string;
  revision?: string;
  baseline?: string;
  judge_unlike?: boolean;
  reservation?: string;
  class?: string;
}

export interface FleetAttempt {
  attempt: number;
  rig: string;
  devices: string[];
  state: string;
  superseded?: boolean;
  fault?: string;
  reason?: string;
  progress?: string;
  set?: string;
  started_wall_ns: number;
  ended_wall_ns: number;
}

export interface FleetJob {
  job: string;
  owner: string;
  class: string;
  test: string;
  label?: string;
  needs: string[];
  state: string;
  reason?: string;
  position: number;
  attempts: FleetAttempt[];
  winner: number;
  verdict?: string;
  queued_wall_ns: number;
  ended_wall_ns: number;
}

export interface FleetStatus {
  role: string;
  epoch?: number;
  rigs: number;
  away: number;
  waiting: {[name: string]: number};
  running: number;
  copied_wall_ns?: number;
  hub?: string;
  rig?: string;
  connected: boolean;
  reason?: string;
  since_wall_ns: number;
  results: number;
}

export interface FleetDevice {
  device: string;
  state: string;
  reason?: string;
  job?: string;
  labels: {[name: string]: string};
}

export interface FleetRig {
  rig: string;
  key: string;
  program: string;
  state: string;
  reason?: string;
  seen_wall_ns: number;
  clock_offset_ns: number;
  joined_wall_ns: number;
  address?: string;
  devices: FleetDevice[];
  results: number;
}

export interface FleetRigs {
  rigs: FleetRig[];
}

export interface FleetJobsParams {
  state?: string;
  limit?: number;
}

export interface FleetJobs {
  jobs: FleetJob[];
  total: number;
}

export interface FleetInvite {
  rig: string;
}

export interface FleetInvitation {
  rig: string;
  url: string;
  expires_wall_ns: number;
}

export interface FleetDrain {
  rig: string;
  drain: boolean;
  reason?: string;
}

export interface FleetRigName {
  rig: string;
}

export interface SubscribeParams {
  from_seq?: number;
  kinds?: string[];
}

export interface Subscribed {
  seq: number;
  missed: boolean;
}

export interface PreviewParams {
  device: string;
}

export interface PreviewStarted {
  device: string;
  max_width_px: number;
  max_pictures_per_s: number;
}

export interface Methods {
  'rig.status': {params: Empty; result: Status};
  'sources.list': {params: Empty; result: any};
  'suite.list': {params: Empty; result: Tests};
  'suite.get': {params: TestName; result: Test};
  'suite.check': {params: CheckParams; result: Checked};
  'suite.schema': {params: Empty; result: any};
  'run.start': {params: StartParams; result: Job};
  'run.cancel': {params: JobID; result: Job};
  'network.set': {params: NetworkParams; result: Line};
  'job.list': {params: Empty; result: Jobs};
  'job.get': {params: JobID; result: Job};
  'run.list': {params: ListParams; result: Runs};
  'run.get': {params: RunID; result: RunDetail};
  'run.delete': {params: RunID; result: Deleted};
  'run.pin': {params: PinParams; result: PinParams};
  'store.clean': {params: CleanParams; result: Cleaned};
  'set.list': {params: ListParams; result: Sets};
  'trend': {params: TrendParams; result: Trend};
  'schedule.list': {params: Empty; result: Schedules};
  'schedule.run': {params: ScheduleRun; result: ScheduleStarted};
  'schedule.pause': {params: SchedulePause; result: Schedule};
  'series.list': {params: SeriesListParams; result: SeriesList};
  'series.get': {params: SeriesParams; result: SeriesData};
  'change.list': {params: ChangeListParams; result: ChangeList};
  'change.confirm': {params: ChangeID; result: SeriesShift};
  'change.dismiss': {params: ChangeID; result: SeriesShift};
  'point.remove': {params: PointRemove; result: PointRemoved};
  'alert.list': {params: AlertListParams; result: AlertList};
  'alert.set': {params: AlertParams; result: Alert};
  'bisect.start': {params: BisectParams; result: Bisect};
  'bisect.get': {params: BisectID; result: Bisect};
  'bisect.list': {params: Empty; result: Bisects};
  'bisect.cancel': {params: BisectID; result: Bisect};
  'compare': {params: CompareParams; result: Compared};
  'baseline.list': {params: Empty; result: Baselines};
  'baseline.set': {params: Baseline; result: Baselines};
  'analyze.start': {params: AnalyzeParams; result: Job};
  'record.start': {params: RecordParams; result: Job};
  'record.stop': {params: StopParams; result: Recorded};
  'record.keepLast': {params: KeepParams; result: Recorded};
  'device.list': {params: Empty; result: DeviceList};
  'device.reserve': {params: ReserveParams; result: Reserved};
  'device.quarantine': {params: QuarantineParams; result: Device};
  'device.power': {params: PowerParams; result: Device};
  'build.list': {params: BuildListParams; result: BuildList};
  'job.start': {params: JobParams; result: FleetJob};
  'fleet.status': {params: Empty; result: FleetStatus};
  'fleet.rigs': {params: Empty; result: FleetRigs};
  'fleet.jobs': {params: FleetJobsParams; result: FleetJobs};
  'fleet.job': {params: JobID; result: FleetJob};
  'fleet.cancel': {params: JobID; result: FleetJob};
  'fleet.invite': {params: FleetInvite; result: FleetInvitation};
  'fleet.drain': {params: FleetDrain; result: FleetRig};
  'fleet.remove': {params: FleetRigName; result: Empty};
  'subscribe': {params: SubscribeParams; result: Subscribed};
  'unsubscribe': {params: Empty; result: Empty};
  'preview.start': {params: PreviewParams; result: PreviewStarted};
  'preview.stop': {params: Empty; result: Empty};
}
